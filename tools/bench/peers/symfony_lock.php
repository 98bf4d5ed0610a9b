<?php
// Symfony's Lock on its RedisStore under the load of `holdfast bench`: a process for each caller. Output as in redis_py.py;
// processes that know nothing of each other cannot tell how long a hand-over takes.
use Symfony\Component\Lock\LockFactory;
use Symfony\Component\Lock\Store\RedisStore;

$library = stream_resolve_include_path('Symfony/Component/Lock/autoload.php');
if ($library === false || !extension_loaded('redis') || !extension_loaded('pcntl')) {
    fwrite(STDERR, "Symfony's lock is missing: apt-get install php-cli php-symfony-lock php-redis\n");
    exit(69);
}
require $library;
if (($argv[1] ?? '') === '--there') {
    echo "has it\n";
    exit(0);
}

$args = ['keys' => 0, 'hold-ms' => 0];
for ($i = 1; $i < $argc; $i++) {
    $name = substr($argv[$i], 2);
    $args[$name] = $name === 'shared' ? true : $argv[++$i];
}

// The lane of one caller. It says that it is ready, and begins when it is told until when to go on.
function call(int $i, array $args, $door): array
{
    $lane = ['grants' => 0, 'wait' => [], 'pair' => [], 'unfinished' => [], 'longest' => 0, 'errors' => 0];
    $redis = new Redis();
    $redis->connect('127.0.0.1', (int) $args['port']);
    $redis->ping();
    $factory = new LockFactory(new RedisStore($redis, 30.0));
    $key = 'peer:' . ((int) $args['keys'] === 0 ? $i : $i % (int) $args['keys']);
    fwrite($door, "ready\n");
    $end = (int) fgets($door);
    while (($begin = hrtime(true)) < $end) {
        try {
            $lock = $factory->createLock($key, 30.0, false);
            $lock->acquire(true);  // asks every 100 ms or so, without an end
            $granted = hrtime(true);
            if ($args['hold-ms'] > 0 && $granted <= $end) {
                usleep((int) (1000 * $args['hold-ms']));
            }
            $leaving = hrtime(true);
            $lock->release();
            if ($granted <= $end) {
                $lane['grants']++;
                $lane['wait'][] = $granted - $begin;
                $lane['pair'][] = $granted - $begin + hrtime(true) - $leaving;
            } else {
                $lane['unfinished'][] = $end - $begin;
            }
            $lane['longest'] = max($lane['longest'], min($granted, $end) - $begin);
        } catch (Exception $error) {
            $lane['errors']++;
            usleep(1000);
        }
    }
    return $lane;
}

$doors = [];
for ($i = 0; $i < (int) $args['callers']; $i++) {
    [$ours, $theirs] = stream_socket_pair(STREAM_PF_UNIX, STREAM_SOCK_STREAM, 0);
    if (pcntl_fork() === 0) {
        fclose($ours);
        fwrite($theirs, json_encode(call($i, $args, $theirs)) . "\n");
        exit(0);
    }
    fclose($theirs);
    $doors[] = $ours;
}
foreach ($doors as $door) {
    fgets($door);
}
$end = hrtime(true) + (int) ($args['seconds'] * 1e9);
foreach ($doors as $door) {
    fwrite($door, "$end\n");
}
$lanes = array_map(fn ($door) => json_decode(stream_get_contents($door), true), $doors);
$all = fn (string $what) => array_merge(...array_column($lanes, $what));
echo json_encode([
    'version' => 'on PHP ' . PHP_VERSION . ', phpredis ' . phpversion('redis'),
    'seconds' => (float) $args['seconds'],
    'grants' => array_column($lanes, 'grants'),
    'wait' => $all('wait'),
    'pair' => $all('pair'),
    'hand_off' => [],
    'unfinished' => $all('unfinished'),
    'longest_wait' => max(array_column($lanes, 'longest')),
    'errors' => array_sum(array_column($lanes, 'errors')),
]), "\n";
