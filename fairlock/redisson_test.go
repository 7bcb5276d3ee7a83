package fairlock

import (
	"context"
	"strconv"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
)

// The steps of Redisson's fair lock, as docs of its wire format tell them.

const javaPrune = `
local now = tonumber(ARGV[1])
while true do
	local head = redis.call('lindex', KEYS[2], 0)
	local score = head and redis.call('zscore', KEYS[3], head)
	if not score or tonumber(score) > now then break end
	redis.call('zrem', KEYS[3], head)
	redis.call('lpop', KEYS[2])
end
`

// ARGV: now, owner, lease, wait; wait 0 is the one-shot form.
const javaAcquireText = javaPrune + `
local own, wait = ARGV[2], tonumber(ARGV[4])
local head = redis.call('lindex', KEYS[2], 0)
if redis.call('exists', KEYS[1]) == 0 and (not head or head == own) then
	redis.call('lpop', KEYS[2])
	redis.call('zrem', KEYS[3], own)
	for _, other in ipairs(redis.call('zrange', KEYS[3], 0, -1)) do
		redis.call('zincrby', KEYS[3], -(wait > 0 and wait or 300000), other)
	end
	redis.call('hset', KEYS[1], own, 1)
	redis.call('pexpire', KEYS[1], ARGV[3])
	return 'taken'
end
if redis.call('hexists', KEYS[1], own) == 1 then
	redis.call('hincrby', KEYS[1], own, 1)
	redis.call('pexpire', KEYS[1], ARGV[3])
	return 'taken'
end
if wait == 0 then return 'busy' end
if redis.call('zscore', KEYS[3], own) then return 'queued' end
local tail = redis.call('lindex', KEYS[2], -1)
local last = tail and tail ~= own and redis.call('zscore', KEYS[3], tail)
local ttl = last and last - now or redis.call('pttl', KEYS[1])
if redis.call('zadd', KEYS[3], string.format('%.0f', ttl + wait + now), own) == 1 then
	redis.call('rpush', KEYS[2], own)
end
return 'queued'
`

// ARGV: now, owner, wait
const javaCancelText = `
local behind = false
for _, own in ipairs(redis.call('lrange', KEYS[2], 0, -1)) do
	if behind then redis.call('zincrby', KEYS[3], -ARGV[3], own) end
	behind = behind or own == ARGV[2]
end
redis.call('zrem', KEYS[3], ARGV[2])
redis.call('lrem', KEYS[2], 0, ARGV[2])
return 'cancelled'
`

// ARGV: now, owner, channel
const javaUnlockText = javaPrune + `
local function tell()
	local head = redis.call('lindex', KEYS[2], 0)
	if head then redis.call('publish', ARGV[3] .. ':' .. head, '0') end
end
if redis.call('exists', KEYS[1]) == 0 then
	tell()
	return 'free'
end
if redis.call('hexists', KEYS[1], ARGV[2]) == 0 then return 'not held' end
if redis.call('hincrby', KEYS[1], ARGV[2], -1) > 0 then return 'level' end
redis.call('del', KEYS[1])
tell()
return 'unlocked'
`

func (b *bench) eval(text string, args ...string) string {
	cmd := b.raw.B().Eval().Script(text).Numkeys(3).Key(b.keys(3)...).Arg(args...).Build()
	reply, err := b.raw.Do(context.Background(), cmd).ToString()
	require.NoError(b.t, err)
	return reply
}

func (b *bench) javaNow() string { return strconv.FormatInt(b.now(), 10) }

func (b *bench) javaAcquire(owner string, wait int) string {
	return b.eval(javaAcquireText, b.javaNow(), owner, strconv.Itoa(leaseMs), strconv.Itoa(wait))
}

func (b *bench) javaCancel(owner string, wait int) string {
	return b.eval(javaCancelText, b.javaNow(), owner, strconv.Itoa(wait))
}

func (b *bench) javaUnlock(owner string) string {
	return b.eval(javaUnlockText, b.javaNow(), owner, keys.LockChannel(b.name))
}
