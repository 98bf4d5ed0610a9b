#!/usr/bin/env ruby
# A lock as many a Ruby job has it: SET NX PX and compare-and-delete, on the gem redis. As a client of Holdfast it sells
# from the stock under it. LOW..HIGH: milliseconds between read and write. What it prints: checker/README.md, "What a
# program tells".
require 'json'
require 'securerandom'
require 'socket'
begin
  require 'redis'
rescue LoadError
  warn 'the gem redis is missing: apt-get install ruby-redis'
  exit 69
end

KEY = ENV['HOLDFAST_KEYS'].split(',').first
LEASE_MS = ENV['HOLDFAST_LEASE_MS'].to_i
THINK_MS = (ARGV[0] || '300..600').split('..').map(&:to_i)
UNLOCK = "if redis.call('get', KEYS[1]) == ARGV[1] then return redis.call('del', KEYS[1]) end return 0".freeze
$stdout.sync = true
random = Random.new(ENV['HOLDFAST_SEED'].to_i)
redis = Redis.new(url: ENV['HOLDFAST_REDIS_URL'], timeout: 2, reconnect_attempts: 40,
                  reconnect_delay: 0.05, reconnect_delay_max: 0.05)
host, port = ENV['HOLDFAST_EFFECTS'].split(':')
stock = TCPSocket.new(host, port.to_i)

def tell(type, f, more = {})
  puts({ type: type, f: f, key: KEY }.merge(more).to_json)
end

def now_ms
  Process.clock_gettime(Process::CLOCK_MONOTONIC, :float_millisecond)
end

ask = lambda do |line|
  stock.puts(line)
  stock.gets.strip
end

# A promoted replica is reached by a new connection; until then a server that has become a replica says READONLY.
patiently = lambda do |&call|
  begin
    call.call
  rescue Redis::BaseConnectionError, Redis::CommandError
    redis.close
    sleep 0.05
    retry
  end
end

loop do
  mine = SecureRandom.uuid
  tell('invoke', 'acquire')
  sent = now_ms
  until patiently.call { sent = now_ms; redis.set(KEY, mine, nx: true, px: LEASE_MS) }
    sleep 0.02
  end
  tell('ok', 'acquire', valid_for_ms: LEASE_MS - (now_ms - sent))
  left = ask.call('READ').to_i
  if left.positive?
    sleep random.rand(THINK_MS[0]..THINK_MS[1]) / 1000.0
    ask.call("SELL #{left - 1}")
  end
  tell('invoke', 'release')
  if patiently.call { redis.eval(UNLOCK, keys: [KEY], argv: [mine]) } == 1
    tell('ok', 'release')
  else
    tell('fail', 'release', error: 'not-owner')
  end
  break unless left.positive?
end
