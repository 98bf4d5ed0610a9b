#!/usr/bin/env php
<?php
// Symfony's Lock on its RedisStore, unchanged, as a client of Holdfast: a flash sale under it. LOW..HIGH: milliseconds
// between read and write. What it prints: checker/README.md, "What a program tells".
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

$library = stream_resolve_include_path('Symfony/Component/Lock/autoload.php');
if ($library === false || !extension_loaded('redis')) {
    fwrite(STDERR, "Symfony's lock is missing: apt-get install php-cli php-symfony-lock php-redis\n");
    exit(69);
}
require $library;

$key = explode(',', getenv('HOLDFAST_KEYS'))[0];
$lease_ms = (int) getenv('HOLDFAST_LEASE_MS');
[$low, $high] = array_map('intval', explode('..', $argv[1] ?? '300..600'));
mt_srand((int) getenv('HOLDFAST_SEED'));

function tell(string $type, string $f, array $more = []): void
{
    global $key;
    fwrite(STDOUT, json_encode(['type' => $type, 'f' => $f, 'key' => $key] + $more) . "\n");
}

$redis = new Redis();
$connect = function () use ($redis): void {
    $at = parse_url(getenv('HOLDFAST_REDIS_URL'));
    $redis->connect($at['host'], $at['port'], 2.0, null, 0, 2.0);
};
$stock = stream_socket_client('tcp://' . getenv('HOLDFAST_EFFECTS'));
$ask = function (string $line) use ($stock): string {
    fwrite($stock, $line . "\n");
    return trim(fgets($stock));
};

// Until a server answers that takes writes. What was asked before may have been done: Symfony asks by a token that stays.
$patiently = function (callable $call) use ($redis, $connect) {
    while (true) {
        try {
            if (!$redis->isConnected()) {
                $connect();
            }
            return $call();
        } catch (Exception $error) {
            try {
                $redis->close();
            } catch (RedisException $gone) {
            }
            usleep(50000);
        }
    }
};

$factory = new LockFactory(new RedisStore($redis, $lease_ms / 1000));
do {
    $lock = $factory->createLock($key, $lease_ms / 1000, false);
    tell('invoke', 'acquire');
    do {
        $granted = $patiently(function () use ($lock, &$sent): bool {
            $sent = hrtime(true);
            return $lock->acquire(false);
        });
        if (!$granted) {
            usleep(20000);
        }
    } while (!$granted);
    tell('ok', 'acquire', ['valid_for_ms' => $lease_ms - (hrtime(true) - $sent) / 1e6]);
    $left = (int) $ask('READ');
    if ($left > 0) {
        usleep(1000 * mt_rand($low, $high));
        $ask('SELL ' . ($left - 1));
    }
    tell('invoke', 'release');
    $patiently(fn () => $lock->release());
    tell('ok', 'release');  // it does not say whether it was its own
} while ($left > 0);
