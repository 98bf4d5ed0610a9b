/* A lock on replicated Redis servers that shall survive failover, restart and split brain.
 *
 * Nodes 0, 1 and 2 are configured members, node 3 is a stranger. Two clients want one lock. One process takes
 * one step after the other: the clock ticks, a client's script runs on a server, a role changes. README.md says
 * what each step stands for, and why what is left out may be left out.
 *
 * Numbers that stand for times are times left, so that a state does not depend on the date.
 *
 * Macros. Bounds: EVENTS (role changes) or ENDLESS, STEPS (clock steps), LEASE, TTL, Q.
 * Design: JOINS (a join starts a quarantine) instead of the age of links.
 * Detail: SPLIT (script, WAIT and confirm are three steps), TOKENS (look at tokens, too).
 * A weaker version each: the names after "weaker" below.
 */
#ifndef EVENTS
#define EVENTS 3
#endif
#ifndef STEPS
#define STEPS 0
#endif
#ifndef LEASE
#define LEASE 2
#endif
#ifndef TTL
#define TTL (LEASE + STEPS)
#endif
#if defined(RAISE) || defined(LOWER)
#define CONSTANTS
#define LONG (LEASE + 1) /* the greater lease cap, and the greater Q */
#define Q    LONG
#endif
#ifndef Q
#define Q (LEASE + STEPS)
#endif

#define STRANGER 3
#define NODES    4
#define NONE     4

/* Weaker versions. */
#ifdef NO_QUARANTINE
#define QSERVER 0
#else
#define QSERVER Q
#endif
#if defined(NO_CONFIRM) || defined(NO_JOIN_CHECK) || defined(SUBSET_AT_CONFIRM) || defined(REVIVE)
#define SPLIT
#endif
#ifdef RELEASE_BY_OWNER
#define NO_SORT_CLIENTS
#endif
#ifdef MIXED_CAPS
#define LEASE_OF(c) (LEASE + 2 * (c))
#elif defined(CONSTANTS)
#define LEASE_OF(c) (LEASE + (LONG - LEASE) * caps[c])
#define NO_SORT_CLIENTS
#else
#define LEASE_OF(c) LEASE
#endif
#define TTL_OF(c) (TTL + LEASE_OF(c) - LEASE)

#ifdef SWAP_MEMBERS /* client 0 knows members 0, 1, 2; client 1 knows 0, 2, 3: one added and one removed at once */
#define MEMBER(c, n) (((c) == 0 && (n) != 3) || ((c) == 1 && (n) != 1))
#define ACKS(c)      1
#define NO_SORT
#elif defined(ADD_MEMBER) /* client 0 knows 0, 1, 2; client 1 knows all four: one added */
#define MEMBER(c, n) ((n) != 3 || (c) == 1)
#define ACKS(c)      (1 + (c))
#define NO_SORT_CLIENTS
#else
#define MEMBER(c, n) ((n) != STRANGER)
#ifdef WITHOUT_SERVER /* nobody asks whether the server is a member: it does not count towards the majority */
#define ACKS(c) 2
#define SERVER_ANYBODY
#else
#define ACKS(c) 1
#endif
#endif
#ifdef MIXED_CAPS
#define NO_SORT_CLIENTS
#endif
#ifdef NO_SORT
#define NO_SORT_CLIENTS
#endif

byte up[NODES];   /* whose replica; its own number: a primary; NONE: no link */
byte y[NODES];    /* a primary: end of its quarantine; a replica: until its link is Q old */
byte rec[NODES];  /* the record's owner: 0 nobody, else client + 1 */
byte rl[NODES];   /* the record's deadline */
byte v[2];        /* what is left of a client's claim */
#ifndef ENDLESS
byte ev = EVENTS; /* role changes left */
#define CHANGES_LEFT (ev > 0)
#define CHANGE       ev--
#else
#define CHANGES_LEFT true
#define CHANGE       skip
#endif
#if STEPS > 0
byte ahead = NONE; /* the node whose clock is a tick ahead */
byte steps = STEPS;
#define SKEW(n) (ahead == (n))
#else
#define SKEW(n) 0
#endif
#ifdef TOKENS
/* Tokens are ticks, NOW for the present one; 0: older than any that may still be granted. */
#if defined(SPLIT) || defined(NO_FRESH_TOKEN)
#define NOW (1 + TTL)
#else
#define NOW 1
#endif
byte last[NODES]; /* the counter */
byte top;         /* what the resource has installed, likewise */
#endif
#ifdef CONSTANTS
byte con[NODES];  /* the stored constants: 0 absent, 1 for LEASE, 2 for LONG */
byte knows[2];    /* those that a client carries */
bool caps[2];     /* the client takes long leases */
bool complete;    /* the operator has found the new constants everywhere */
byte seen;
#ifdef LOWER
byte rest; /* until the last long lease has ended for certain */
#endif
#endif
#ifdef RELEASE_BY_OWNER
bool late[2];     /* a release is under way */
#endif
#ifdef NO_FRESH_TOKEN
byte rtok[NODES]; /* the token in the record */
#endif
#ifdef BARE_WAIT
byte ghost[NODES]; /* bit n: replica n is gone, and this server has not noticed */
#endif
#ifdef SPLIT
byte p[2];      /* 0: nothing under way, 1: acquire, 2: renewal; + 2: WAIT has returned */
byte ps[2];     /* on which server */
byte pv[2];     /* what would be left of the claim */
byte pn[2];     /* acknowledgements asked for */
byte ak[NODES]; /* bit c: has acknowledged the write of client c that is under way */
#ifdef TOKENS
byte pt[2];
#endif
#endif

/* Choices of the step under way; 0 between steps. */
byte c, s, a, n, i, j, k, t, need, got, bad;
int key[3];

#define PRIMARY(x)    (up[x] == (x))
#define LINKED(x, m)  (up[x] == (m) && (x) != (m))
#define FREE_FOR(x, cl) (rec[x] == 0 || rl[x] <= SKEW(x) || rec[x] == (cl) + 1)
#define HAS(x, cl)    (rec[x] == (cl) + 1 && rl[x] > SKEW(x))
#ifdef CONSTANTS
#define SLACK ((2 - knows[c]) * (LONG - LEASE)) /* the client waits for the shorter Q */
#ifdef UNSTORED
#define AGREES true
#elif defined(ABSENT_IS_MINE)
#define AGREES (con[s] == knows[c] || con[s] == 0)
#else
#define AGREES (con[s] == knows[c])
#endif
#else
#define SLACK  0
#define AGREES true
#endif
#define SETTLED(x)    (y[x] <= SKEW(x) + SLACK)
#define OLD(x)        (y[x] <= SKEW(up[x]) + SLACK)
#ifdef LAZY_MARK /* the quarantine begins when the first script meets the new epoch */
#define UNMARKED 100
#define MARK     UNMARKED
#else
#define MARK (QSERVER + SKEW(n))
#endif

/* The data set of node f goes to node x. */
inline copy(f, x) {
  rec[x] = rec[f];
  rl[x] = rl[f];
#ifdef CONSTANTS
  con[x] = con[f];
#endif
#ifdef TOKENS
  last[x] = last[f];
#endif
#ifdef NO_FRESH_TOKEN
  rtok[x] = rtok[f];
#endif
}

inline wipe(x) {
  rec[x] = 0;
  rl[x] = 0;
#ifdef CONSTANTS
  con[x] = 0;
#endif
#ifdef TOKENS
  last[x] = 0;
#endif
#ifdef NO_FRESH_TOKEN
  rtok[x] = 0;
#endif
}

/* The write of server s reaches the replicas in a. */
inline spread() {
  k = 0;
  do
  :: k < NODES ->
    if
    :: LINKED(k, s) && ((a >> k) & 1) ->
#ifdef BLIND_REPLICAS
      skip
#else
      copy(s, k)
#endif
    :: else
    fi;
    k++
  :: else -> break
  od
}

/* got: acknowledgements; need: how many are asked for; bad: replicas that are not configured. */
inline count(young) {
  k = 0;
  got = 0;
  need = ACKS(c);
  bad = 0;
  t = 0;
  do
  :: k < NODES ->
    if
    :: LINKED(k, s) ->
      t++;
      got = got + ((a >> k) & 1);
#ifdef BARE_WAIT
      got = got + 1 - ((a >> k) & 1);
#endif
      if
      :: !MEMBER(c, k) -> bad++
      :: else
      fi;
#if !defined(JOINS) && !defined(NO_AGE)
      if
      :: young && !OLD(k) -> need++
      :: else
      fi
#endif
    :: else
#ifdef BARE_WAIT
      -> got = got + ((ghost[s] >> k) & 1)
#endif
    fi;
    k++
  :: else -> break
  od;
#ifdef ALL_CONNECTED
  need = t;
#endif
#ifdef MAJORITY_OF_CONNECTED
  need = (t + 1) / 2;
#endif
#ifdef FOREIGN_ADDS
  need = need + bad;
  bad = 0;
#endif
#ifdef SUBSET_AT_CONFIRM
  bad = 0;
#endif
}

inline claim(cl, left) {
  v[cl] = left;
  assert(v[0] == 0 || v[1] == 0) /* no two claims at once */
}

#ifdef TOKENS
#define TOKEN_OF(x) (last[x] >= NOW + SKEW(x) -> last[x] + 1 : NOW + SKEW(x))
inline install(tok) {
#ifdef NO_FRESH_TOKEN
  assert(tok > top || tok == 0); /* 0: too old to be compared */
#else
  assert(tok > top); /* tokens rise in the order of grants */
#endif
  top = tok
}
#endif

/* Replica n goes away from where it is. A primary's own replicas lose their link. */
inline unlink(x) {
#ifdef BARE_WAIT
  if
  :: up[x] != NONE && up[x] != x -> ghost[up[x]] = ghost[up[x]] | (1 << x)
  :: else -> ghost[x] = 0
  fi;
#endif
  k = 0;
  do
  :: k < NODES ->
    if
    :: LINKED(k, x) || k == x ->
      up[k] = NONE;
      y[k] = 0;
#ifdef SPLIT
      ak[k] = 0
#endif
    :: else
    fi;
    k++
  :: else -> break
  od;
#ifdef SPLIT
  stint_over(x)
#endif
}

#ifdef SPLIT
inline drop(cl) {
  p[cl] = 0;
  ps[cl] = 0;
  pv[cl] = 0;
  pn[cl] = 0;
#ifdef TOKENS
  pt[cl] = 0;
#endif
  i = 0;
  do
  :: i < NODES -> ak[i] = ak[i] & (2 - (cl)); i++
  :: else -> break
  od
}
/* The epoch of x has changed: what is under way there cannot be confirmed. */
inline stint_over(x) {
#ifdef NO_CONFIRM
  skip
#else
  if
  :: p[0] && ps[0] == x -> drop(0)
  :: else
  fi;
  if
  :: p[1] && ps[1] == x -> drop(1)
  :: else
  fi
#endif
}
#endif

/* States that differ by nothing that counts become one: expired records; the order of members and clients. */
#define SWAP(f, x, z) t = f[x]; f[x] = f[z]; f[z] = t
#define RENAMED(q, x, z) (q == (x) -> (z) : (q == (z) -> (x) : q))

inline swap_members(x, z) {
  SWAP(up, x, z);
  SWAP(y, x, z);
  SWAP(rec, x, z);
  SWAP(rl, x, z);
#ifdef CONSTANTS
  SWAP(con, x, z);
  t = ((seen >> (x)) ^ (seen >> (z))) & 1;
  seen = seen ^ ((t << (x)) | (t << (z)));
#endif
#ifdef TOKENS
  SWAP(last, x, z);
#endif
#ifdef NO_FRESH_TOKEN
  SWAP(rtok, x, z);
#endif
#ifdef SPLIT
  SWAP(ak, x, z);
  ps[0] = (p[0] -> RENAMED(ps[0], x, z) : 0);
  ps[1] = (p[1] -> RENAMED(ps[1], x, z) : 0);
#endif
#if STEPS > 0
  ahead = RENAMED(ahead, x, z);
#endif
  t = key[x]; key[x] = key[z]; key[z] = t;
  up[0] = RENAMED(up[0], x, z);
  up[1] = RENAMED(up[1], x, z);
  up[2] = RENAMED(up[2], x, z);
  up[3] = RENAMED(up[3], x, z);
#ifdef BARE_WAIT
  SWAP(ghost, x, z);
  k = 0;
  do
  :: k < NODES ->
    t = ((ghost[k] >> (x)) ^ (ghost[k] >> (z))) & 1;
    ghost[k] = ghost[k] ^ ((t << (x)) | (t << (z)));
    k++
  :: else -> break
  od
#endif
}

inline rename_client(x) {
  if
  :: rec[x] != 0 -> rec[x] = 3 - rec[x]
  :: else
  fi
}

inline tidy() {
  k = 0;
  do
  :: k < NODES ->
    if
    :: rl[k] == 0 ->
      rec[k] = 0
#ifdef NO_FRESH_TOKEN
      ; rtok[k] = 0
#endif
    :: else
    fi;
    k++
  :: else -> break
  od;
#ifndef NO_SORT_CLIENTS
  /* Which client is which: by claims, else by the records. */
  t = 0;
  if
  :: v[0] != v[1] -> t = (v[1] > v[0])
  :: else ->
    i = 0; j = 0; k = 0;
    do
    :: k < NODES ->
      i = i + (rec[k] == 1 -> 4 + rl[k] : 0);
      j = j + (rec[k] == 2 -> 4 + rl[k] : 0);
      k++
    :: else -> break
    od;
#ifdef SPLIT
    i = i + 40 * p[0];
    j = j + 40 * p[1];
#endif
    t = (j > i)
  fi;
  if
  :: t ->
    SWAP(v, 0, 1);
    rename_client(0);
    rename_client(1);
    rename_client(2);
    rename_client(3);
#ifdef SPLIT
    SWAP(p, 0, 1);
    SWAP(ps, 0, 1);
    SWAP(pv, 0, 1);
    SWAP(pn, 0, 1);
#ifdef TOKENS
    SWAP(pt, 0, 1);
#endif
    k = 0;
    do
    :: k < NODES -> ak[k] = (ak[k] >> 1) | ((ak[k] & 1) << 1); k++
    :: else -> break
    od
#endif
  :: else
  fi;
#endif
#ifndef NO_SORT
  k = 0;
  do
  :: k < 3 ->
    key[k] = (PRIMARY(k) -> 0 : (up[k] == NONE -> 1 : (up[k] == STRANGER -> 2 : 3)));
    key[k] = ((key[k] * 128 + y[k]) * 4 + rec[k]) * 8 + rl[k];
#ifdef TOKENS
    key[k] = key[k] * 16 + last[k];
#endif
#ifdef CONSTANTS
    key[k] = (key[k] * 4 + con[k]) * 2 + ((seen >> k) & 1);
#endif
#ifdef SPLIT
    key[k] = (key[k] * 4 + ak[k]) * 4 + (p[0] && ps[0] == k) * 2 + (p[1] && ps[1] == k);
#endif
#if STEPS > 0
    key[k] = key[k] * 2 + SKEW(k);
#endif
    k++
  :: else -> break
  od;
  if
  :: key[0] > key[1] -> swap_members(0, 1)
  :: else
  fi;
  if
  :: key[1] > key[2] -> swap_members(1, 2)
  :: else
  fi;
  if
  :: key[0] > key[1] -> swap_members(0, 1)
  :: else
  fi;
  key[0] = 0; key[1] = 0; key[2] = 0;
#endif
  c = 0; s = 0; a = 0; n = 0; i = 0; j = 0; k = 0; t = 0; need = 0; got = 0; bad = 0
}

#ifdef REVIVE
#define OVERTAKEN(cl) false
#else
#define OVERTAKEN(cl) ((p[cl] & 1) == 0 && v[cl] == 0) /* a renewal that comes after the claim's end */
#endif
#define LESS(q) q = (q > 0 -> q - 1 : 0)

inline tick() {
  k = 0;
  do
  :: k < NODES ->
#ifdef LAZY_MARK
    y[k] = (y[k] == UNMARKED -> UNMARKED : (y[k] > 0 -> y[k] - 1 : 0));
#else
    LESS(y[k]);
#endif
    LESS(rl[k]);
#ifdef TOKENS
    LESS(last[k]);
#endif
#ifdef NO_FRESH_TOKEN
    LESS(rtok[k]);
#endif
    k++
  :: else -> break
  od;
  LESS(v[0]);
  LESS(v[1]);
#ifdef LOWER
  LESS(rest);
#endif
#ifdef TOKENS
  LESS(top);
#endif
#ifdef SPLIT
#ifdef TOKENS
  LESS(pt[0]);
  LESS(pt[1]);
#endif
  LESS(pv[0]);
  LESS(pv[1]);
  if
  :: p[0] && (pv[0] == 0 || OVERTAKEN(0)) -> drop(0)
  :: else
  fi;
  if
  :: p[1] && (pv[1] == 0 || OVERTAKEN(1)) -> drop(1)
  :: else
  fi
#endif
}

/* A script never brings a deadline forward: a promise may rest on it. */
inline extend() {
#ifdef SHORTENS
  rl[s] = TTL_OF(c) + SKEW(s)
#else
  j = (HAS(s, c) -> rl[s] : 0);
  rl[s] = TTL_OF(c) + SKEW(s);
  rl[s] = (j > rl[s] -> j : rl[s])
#endif
}

inline any_client() { if :: c = 0 :: c = 1 fi }
inline any_primary() {
  if
  :: PRIMARY(0) -> s = 0
  :: PRIMARY(1) -> s = 1
  :: PRIMARY(2) -> s = 2
  :: PRIMARY(3) -> s = 3
  fi
}
/* a: any set of the replicas of s. */
inline any_replicas() {
  if :: LINKED(0, s) -> a = 1 :: true fi;
  if :: LINKED(1, s) -> a = a | 2 :: true fi;
  if :: LINKED(2, s) -> a = a | 4 :: true fi;
  if :: LINKED(3, s) -> a = a | 8 :: true fi
}
#ifdef NO_STRANGER
inline any_node() { if :: n = 0 :: n = 1 :: n = 2 fi }
#else
inline any_node() { if :: n = 0 :: n = 1 :: n = 2 :: n = 3 fi }
#endif

#ifdef SERVER_ANYBODY
#define SERVER_FITS true
#else
#define SERVER_FITS MEMBER(c, s)
#endif
#ifdef REPEAT_SURVIVES
#define MAY_ACQUIRE (SETTLED(s) || HAS(s, c))
#define AGE_ASKED   (!HAS(s, c))
#else
#define MAY_ACQUIRE SETTLED(s)
#define AGE_ASKED   true
#endif
#ifdef RENEW_AGE
#define AGE_ASKED_RENEWING true
#else
#define AGE_ASKED_RENEWING false
#endif
#ifdef SPLIT
#define IDLE(cl) (p[cl] == 0)
#else
#define IDLE(cl) true
#endif
#ifdef COUNTER_RUNS
#define COUNTER_FITS (last[s] <= NOW + Q + 1)
#elif defined(TOKENS)
#define COUNTER_FITS (last[s] <= NOW + SKEW(s)) /* not ahead of TIME */
#else
#define COUNTER_FITS true
#endif

#ifdef CONSTANTS
#ifdef READ_ONE_BY_ONE
#define FOUND ((seen & 7) == 7)
#elif defined(MAJORITY_HAS)
#define FOUND ((con[0] == NEW) + (con[1] == NEW) + (con[2] == NEW) >= 2)
#elif defined(STRANGERS_TOO)
#define FOUND (con[0] == NEW && con[1] == NEW && con[2] == NEW && con[3] == NEW)
#else
#define FOUND (con[0] == NEW && con[1] == NEW && con[2] == NEW)
#endif
#ifdef RAISE
#define MAY_WRITE true
#ifdef OLD_CLIENT
#define MAY_KNOW (c == 0)
#define MAY_CAP  (!caps[c] && complete && knows[c] == 2)
#elif defined(CAP_FIRST)
#define MAY_KNOW false
#define MAY_CAP  (!caps[c])
#else
#define MAY_KNOW true
#define MAY_CAP  (!caps[c] && complete && knows[0] == 2 && knows[1] == 2)
#endif
#else
#define SHORT_ONLY (!caps[0] && !caps[1] && rest == 0)
#define MAY_CAP    caps[c]
#ifdef Q_FIRST
#define MAY_WRITE true
#define MAY_KNOW  true
#elif defined(NO_WAIT_FOR_LONG_LEASES)
#define MAY_WRITE (!caps[0] && !caps[1])
#define MAY_KNOW  MAY_WRITE
#else
#define MAY_WRITE SHORT_ONLY
#define MAY_KNOW  SHORT_ONLY
#endif
#endif
#endif

#ifdef SPLIT
inline begin(what) {
  p[c] = what;
  ps[c] = s;
  pv[c] = LEASE_OF(c);
  pn[c] = need;
  k = 0;
  do
  :: k < NODES ->
    if
    :: LINKED(k, s) && ((a >> k) & 1) -> ak[k] = ak[k] | (1 << c)
    :: else
    fi;
    k++
  :: else -> break
  od
}
inline acknowledged() {
  k = 0;
  got = 0;
  bad = 0;
  do
  :: k < NODES ->
    if
    :: LINKED(k, s) ->
      got = got + ((ak[k] >> c) & 1);
      if
      :: !MEMBER(c, k) -> bad++
      :: else
      fi
    :: else
    fi;
    k++
  :: else -> break
  od
}
#endif

active proctype world() {
  d_step {
    y[3] = 0;
    up[3] = NONE
  }
#ifdef CONSTANTS
  d_step {
#ifdef RAISE
    con[0] = 1; con[1] = 1; con[2] = 1; con[3] = 1;
    knows[0] = 1; knows[1] = 1
#else
    con[0] = 2; con[1] = 2; con[2] = 2; con[3] = 2;
    knows[0] = 2; knows[1] = 2;
    caps[0] = 1; caps[1] = 1
#endif
  }
#endif
  atomic {
    if
    :: up[3] = NONE
#ifndef NO_STRANGER
    :: up[3] = 0
#endif
    fi
#if STEPS > 0
    ;
    if
    :: ahead = NONE
    :: ahead = 0
    :: ahead = 1
    :: ahead = 3
    fi
#endif
  }
  do
  /* Time. */
  :: d_step { tick(); tidy() }

  /* Acquire: the script; without SPLIT also WAIT and confirm. */
  :: atomic {
      any_client();
      IDLE(c); /* who holds may acquire, too: an old command that arrives late; nobody takes its answer */
      any_primary();
      SERVER_FITS && AGREES && MAY_ACQUIRE && FREE_FOR(s, c) && COUNTER_FITS;
      any_replicas();
      d_step {
        count(AGE_ASKED);
        if
        :: bad == 0 ->
#ifdef TOKENS
          i = TOKEN_OF(s);
#ifdef NO_FRESH_TOKEN
          if
          :: HAS(s, c) -> i = rtok[s]
          :: else -> last[s] = i
          fi;
          rtok[s] = i;
#else
          last[s] = i;
#endif
#endif
          extend();
          rec[s] = c + 1;
#ifdef CONSTANTS
          con[s] = knows[c];
#endif
          spread();
#ifdef SPLIT
          if
          :: v[c] == 0 ->
            begin(1);
#ifdef TOKENS
            pt[c] = i
#endif
          :: else
          fi
#else
          if
          :: got >= need && v[c] == 0 ->
#if REACH == 1
            assert(!(PRIMARY(0) && s != 0 && rec[0] == 2 - c)) /* beside another primary with another's record */
#elif REACH == 2
            assert(need == ACKS(c)) /* with a young replica */
#endif
            claim(c, LEASE_OF(c));
#ifdef TOKENS
            install(i)
#endif
          :: else
          fi
#endif
        :: else
        fi;
        tidy()
      }
    }

  /* Renewal: passes in quarantine, and with replicas of any age. */
  :: atomic {
      any_client();
      v[c] > 0 && IDLE(c);
      any_primary();
      SERVER_FITS && AGREES && HAS(s, c);
      any_replicas();
      d_step {
        count(AGE_ASKED_RENEWING);
#ifdef RENEW_WITHOUT_ACKS
        need = 0;
#endif
        if
        :: bad == 0 ->
          extend();
          spread();
#ifdef SPLIT
          begin(2)
#else
          if
          :: got >= need ->
#if REACH == 3
            assert(SETTLED(s)); /* in quarantine */
#endif
            v[c] = (LEASE_OF(c) > v[c] -> LEASE_OF(c) : v[c])
          :: else
          fi
#endif
        :: else
        fi;
        tidy()
      }
    }

#ifdef SPLIT
  /* WAIT returns what was asked for. */
  :: atomic {
      any_client();
      p[c] == 1 || p[c] == 2;
      s = ps[c];
      d_step {
        acknowledged();
        if
        :: got >= pn[c] && PRIMARY(s) ->
#ifdef NO_CONFIRM
          if
          :: p[c] == 1 || v[c] > 0 ->
            claim(c, pv[c]);
#ifdef TOKENS
            if
            :: p[c] == 1 -> install(pt[c])
            :: else
            fi
#endif
          :: else
          fi;
          drop(c)
#else
          p[c] = p[c] + 2
#endif
        :: else
        fi;
        tidy()
      }
    }
  /* Confirm. A change of epoch and a join have dropped what was under way. */
  :: atomic {
      any_client();
      p[c] >= 3;
      s = ps[c];
      HAS(s, c);
      d_step {
        acknowledged();
        if
        :: bad == 0 ->
          if
          :: p[c] == 3 ->
            claim(c, pv[c]);
#ifdef TOKENS
            install(pt[c])
#endif
          :: else ->
            v[c] = (pv[c] > v[c] -> pv[c] : v[c]);
            assert(v[0] == 0 || v[1] == 0)
          fi
        :: else
        fi;
        drop(c);
        tidy()
      }
    }
  /* The client gives up waiting. */
  :: atomic {
      any_client();
      p[c] > 0;
      d_step { drop(c); tidy() }
    }
#endif

  /* Release: the claim ends, then the record goes. */
  :: atomic {
      any_client();
      IDLE(c);
      any_primary();
      HAS(s, c);
      any_replicas();
      d_step {
        v[c] = 0;
        rec[s] = 0;
        rl[s] = 0;
#ifdef TOKEN_EXPIRES
        last[s] = 0;
#endif
#ifdef NO_FRESH_TOKEN
        rtok[s] = 0;
#endif
        spread();
        tidy()
      }
    }

#ifdef RELEASE_BY_OWNER
  /* A release is sent, and arrives when the client may have acquired again. */
  :: atomic {
      any_client();
      v[c] > 0 && !late[c];
      d_step { v[c] = 0; late[c] = true; tidy() }
    }
  :: atomic {
      any_client();
      late[c];
      any_primary();
      HAS(s, c);
      d_step { late[c] = false; rec[s] = 0; rl[s] = 0; a = 15; spread(); tidy() }
    }
#endif

#ifdef LAZY_MARK
  /* A script meets a new epoch, and writes the mark. */
  :: atomic {
      any_primary();
      y[s] == UNMARKED;
      any_replicas();
      d_step { y[s] = QSERVER + SKEW(s); spread(); tidy() }
    }
#endif

#ifdef CONSTANTS
#ifdef RAISE
#define NEW 2
#else
#define NEW 1
#endif
  /* The operator writes the new constants on a primary. */
  :: atomic {
      !complete && MAY_WRITE;
      any_primary();
      con[s] != NEW;
      any_replicas();
      d_step { con[s] = NEW; spread(); tidy() }
    }
  /* The operator reads. */
#ifdef READ_ONE_BY_ONE
  :: atomic {
      !complete;
      any_node();
      con[n] == NEW;
      d_step { seen = seen | (1 << n); tidy() }
    }
#endif
  :: d_step { !complete && FOUND -> complete = true; seen = 0; tidy() }
  /* Clients are restarted with the new constants, and with the new cap. */
  :: atomic {
      any_client();
      knows[c] != NEW && MAY_KNOW;
      d_step { knows[c] = NEW; tidy() }
    }
  :: atomic {
      any_client();
      MAY_CAP;
      d_step {
        caps[c] = (NEW == 2);
#ifdef LOWER
        rest = LONG;
#endif
        tidy()
      }
    }
#endif

  /* Promotion. */
  :: atomic {
      CHANGES_LEFT;
      any_node();
      !PRIMARY(n);
#ifdef TWO_KEYS
      if :: i = 0 :: i = 1 fi;
#endif
      d_step {
        CHANGE;
        unlink(n);
        up[n] = n;
        y[n] = MARK;
#ifdef TWO_KEYS
        y[n] = (i -> 0 : y[n]);
#endif
        tidy()
      }
    }

  /* Join: node n becomes a replica of primary s, and takes its data set. */
  :: atomic {
      CHANGES_LEFT;
      any_node();
      any_primary();
      s != n && up[n] != s;
#ifdef TWO_KEYS
      if :: i = 0 :: i = 1 fi;
#endif
      d_step {
        CHANGE;
        unlink(n);
        up[n] = s;
        y[n] = Q + SKEW(s);
        copy(s, n);
#ifdef JOINS
        y[s] = QSERVER + SKEW(s);
#ifdef TWO_KEYS
        y[s] = (i -> 0 : y[s]);
#endif
#endif
#ifdef BARE_WAIT
        ghost[s] = ghost[s] & (15 - (1 << n));
#endif
#ifdef SPLIT
#if defined(NO_CONFIRM) || defined(NO_JOIN_CHECK)
        if
        :: p[0] && ps[0] == s -> ak[n] = ak[n] | 1
        :: else
        fi;
        if
        :: p[1] && ps[1] == s -> ak[n] = ak[n] | 2
        :: else
        fi;
#else
        stint_over(s);
#endif
#endif
        tidy()
      }
    }

  /* Leave: a link ends. */
  :: atomic {
      CHANGES_LEFT;
      any_node();
      !PRIMARY(n) && up[n] != NONE;
      d_step {
        CHANGE;
        unlink(n);
        tidy()
      }
    }

  /* Restart without disk, as a primary. */
  :: atomic {
      CHANGES_LEFT;
      any_node();
      d_step {
        CHANGE;
        unlink(n);
        wipe(n);
        up[n] = n;
        y[n] = MARK;
        tidy()
      }
    }

#ifdef FLUSH
  /* The data set is emptied in place, the mark with it. */
  :: atomic {
      CHANGES_LEFT;
      any_primary();
      any_replicas();
      d_step {
        CHANGE;
        wipe(s);
        #ifdef LAZY_MARK
        y[s] = UNMARKED;
#else
        y[s] = QSERVER + SKEW(s);
#endif
        spread();
#ifdef SPLIT
        stint_over(s);
#endif
        tidy()
      }
    }
#endif

#ifdef EVICTION
  /* Memory is short: the record goes, the mark stays. */
  :: atomic {
      any_primary();
      rec[s] != 0;
      d_step {
        rec[s] = 0;
        rl[s] = 0;
        a = 15;
        spread();
        tidy()
      }
    }
#endif

#if STEPS > 0
  /* A node's clock goes a tick ahead, or back. */
  :: atomic {
      steps > 0;
      ahead == NONE;
      any_node();
      d_step { steps--; ahead = n; tidy() }
    }
  :: d_step { steps > 0 && ahead != NONE -> steps--; ahead = NONE; tidy() }
#endif
  od
}
