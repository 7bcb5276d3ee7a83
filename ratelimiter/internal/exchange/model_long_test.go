package exchange

import (
	"fmt"
	"math/big"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/bucket"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// marathon is take.lua, as it is shipped, in a loop inside of the server: its
// clock and its state are variables. Times between decisions and the sizes of
// requests come from a generator that KEYS[1] seeds; the very first request and the
// last one of a chunk take all that is there.
//
// ARGV    how many decisions; time, µs; state, or ”; the longest time between
// two; the argument for one token; ticks per token
// Returns {time, state, tokens granted, seed, decisions that granted}
var marathon = `
local now, state, longest, seed = tonumber(ARGV[2]), ARGV[3], tonumber(ARGV[4]), tonumber(KEYS[1])
local per, tokens, granted = tonumber(ARGV[6]), 0, 0
if state == '' then
	state = false
end
local function shipped(redis, KEYS, ARGV)
` + takeScript.Body() + `
end
local clock, server = {0, 0}, {}
function server.call(command, key, text)
	if command == 'TIME' then
		clock[1] = math.floor(now / 1000000)
		clock[2] = now % 1000000
		return clock
	elseif command == 'GET' then
		return state
	elseif command == 'SET' then
		state = text
		return
	end
	error(command)
end
local function random(below)
	seed = (seed * 1103515245 + 12345) % 2147483648
	return math.floor(seed / 2147483648 * below)
end
local keys, args, rule = {'state'}, {}, string.sub(ARGV[5], 1, 35)
local last = tonumber(ARGV[1])
for step = 1, last do
	local kind, size, most = random(8), 1, 1000000000
	if state then
		now = now + random(longest)
	end
	if state and step < last and kind < 3 then
		most = kind == 2 and 7 or 1
		if kind == 1 then
			size = 3
		end
	end
	args[1] = rule .. struct.pack('>i7i7', size * per, most)
	local reply = shipped(server, keys, args)
	if reply == nil then
		return redis.error_reply('ERR another generation in ' .. state)
	end
	local k = type(reply) == 'string' and most or reply[4]
	if k > 0 then
		tokens, granted = tokens + k * size, granted + 1
	end
end
return {string.format('%.0f', now), state or '', string.format('%.0f', tokens), string.format('%.0f', seed), string.format("%.0f", granted)}
`

// Decisions do not add up to one tick more or less than the rule says, however
// many they are: what was granted is floor((burst*token + gain*time) / token), in
// whole numbers, as the bucket is never full again.
func TestManyDecisionsInsideOfTheServer(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		rate    Rate
		longest time.Duration // between two decisions
	}{
		{Every(7, 1_000_000_007).WithBurst(1000), 300 * time.Millisecond},
		{PerSecond(999_983).WithBurst(100_000), 11 * time.Microsecond},
		{PerSecond(600_000), 7 * time.Microsecond},
	} {
		t.Run(c.rate.String(), func(t *testing.T) {
			t.Parallel()
			patient := func(o *rueidis.ClientOption) { o.ConnWriteTimeout = 10 * time.Minute } // a chunk holds the server up
			runLong(t, redistest.Start(t).Client(t, patient), c.rate, c.longest)
		})
	}
}

// longChunk is as much as holds the server up for well below a second.
const longChunk = 111_000

func runLong(t *testing.T, c rueidis.Client, rate Rate, longest time.Duration) {
	t.Helper()
	r, err := resolve(rate)
	require.NoError(t, err)
	r.Identify(1, 1)
	const began = 1_700_000_000_000_000
	now, state, seed, total, granted, calls := int64(began), "", "4711", new(big.Int), int64(0), int64(0)
	for done, last := int64(0), int64(redistest.Count(t, 3*longChunk, 100*longChunk)); done < last; {
		steps := min(longChunk, last-done)
		got, err := c.Do(t.Context(), c.B().Eval().Script(marathon).Numkeys(1).Key(seed).Arg(
			bucket.Decimal(steps), bucket.Decimal(now), state, bucket.Decimal(int64(longest/time.Microsecond)),
			r.Texts.One, r.Texts.PerToken,
		).Build()).AsStrSlice()
		require.NoError(t, err)
		var tokens int64
		_, err = fmt.Sscan(got[0]+" "+got[2]+" "+got[4], &now, &tokens, &calls)
		require.NoError(t, err)
		state, seed, granted = got[1], got[3], granted+calls
		total.Add(total, big.NewInt(tokens))
		exactly(t, r, began, now, total, state)
		if done += steps; done == last || done%(100*longChunk) == 0 {
			t.Logf("%v: %d decisions over %v, %d of them granted %v tokens", rate, done, time.Duration(now-began)*time.Microsecond, granted, total)
		}
	}
}

// exactly compares what was granted, and what is missing, with the closed form.
func exactly(t *testing.T, r *bucket.Rule, began, now int64, total *big.Int, state string) {
	t.Helper()
	gained := func(till int64) *big.Int {
		return new(big.Int).Mul(big.NewInt((till-began)/r.Unit), big.NewInt(r.Gain))
	}
	want := gained(now)
	want.Add(want, big.NewInt(r.Full)).Quo(want, big.NewInt(r.PerToken))
	require.Zero(t, want.Cmp(total), "%v granted from %d to %d, not %v", total, began, now, want)
	at, w, f := bucket.Unpack(state, 1), bucket.Unpack(state, 2), bucket.Unpack(state, 3)
	taken := new(big.Int).Mul(total, big.NewInt(r.PerToken))
	require.Zero(t, taken.Sub(taken, gained(at)).Cmp(big.NewInt(w*r.PerToken+f)), "state %q, not %v", state, taken)
}
