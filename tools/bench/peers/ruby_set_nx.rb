# SET NX PX and compare-and-delete by Ruby's client, asked again every 100 ms, as it is written by hand where there is no gem: under
# the load of `holdfast bench`, a process for each caller. Output as in redis_py.py; processes that know nothing of each other
# cannot tell how long a hand-over takes.
require 'json'
require 'securerandom'
require 'socket'

begin
  require 'redis'
rescue LoadError
  warn "Ruby's client is missing: apt-get install ruby-redis"
  exit 69
end
if ARGV.first == '--there'
  puts 'has it'
  exit
end

args = { 'keys' => '0', 'hold-ms' => '0' }
until ARGV.empty?
  name = ARGV.shift.delete_prefix('--')
  args[name] = name == 'shared' ? true : ARGV.shift
end

def now
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :nanosecond)
end

COMPARE_AND_DELETE = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) else return 0 end".freeze

# The lane of one caller. It says that it is ready, and begins when it is told until when to go on.
def call(i, args, door)
  lane = { grants: 0, wait: [], pair: [], unfinished: [], longest: 0, errors: 0 }
  redis = Redis.new(port: args['port'].to_i)
  script = redis.script(:load, COMPARE_AND_DELETE)
  keys = args['keys'].to_i
  key = "peer:#{keys.zero? ? i : i % keys}"
  door.puts 'ready'
  ends = door.gets.to_i
  while (from = now) < ends
    begin
      token = SecureRandom.hex(16)
      until (granted = redis.set(key, token, nx: true, px: 30_000))
        break if now >= ends

        sleep 0.1
      end
      at = now
      lane[:longest] = [lane[:longest], at - from].max
      unless granted
        lane[:unfinished] << at - from
        break
      end
      sleep args['hold-ms'].to_f / 1000 if args['hold-ms'].to_f.positive?
      leaving = now
      redis.evalsha(script, [key], [token])
      if at <= ends
        lane[:grants] += 1
        lane[:wait] << at - from
        lane[:pair] << at - from + now - leaving
      end
    rescue Redis::BaseError
      lane[:errors] += 1
      sleep 0.001
    end
  end
  lane
end

doors = Array.new(args['callers'].to_i) do |i|
  ours, theirs = UNIXSocket.pair
  fork do
    ours.close
    theirs.puts JSON.generate(call(i, args, theirs))
    exit!(0)
  end
  theirs.close
  ours
end
doors.each(&:gets)
ends = now + (args['seconds'].to_f * 1e9).to_i
doors.each { |door| door.puts ends }
lanes = doors.map { |door| JSON.parse(door.gets) }
all = ->(what) { lanes.flat_map { |lane| lane[what] } }
puts JSON.generate(
  version: Redis::VERSION, seconds: args['seconds'].to_f, grants: lanes.map { |lane| lane['grants'] },
  wait: all['wait'], pair: all['pair'], hand_off: [], unfinished: all['unfinished'],
  longest_wait: lanes.map { |lane| lane['longest'] }.max, errors: lanes.sum { |lane| lane['errors'] }
)
