package mapcache

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func (r *rig) boundBytes(n int64, mode string) {
	r.t.Helper()
	r.run(SetBytes, []string{r.n.Options, r.n.Accesses, r.n.Hash}, strconv.FormatInt(n, 10), mode)
}

// weighs is what the entries weigh.
func (r *rig) weighs() (bytes int64) {
	r.t.Helper()
	msg := r.do("HGETALL", r.n.Hash)
	all, err := msg.AsStrMap()
	require.NoError(r.t, err)
	for key, packed := range all {
		bytes += int64(len(key) + len(packed))
	}
	return bytes
}

func (r *rig) counted() int64 { r.t.Helper(); return r.count("HGET", r.n.Options, "rueidisson-bytes") }

// TestACacheWithABoundByBytesCountsWhatItHas: whatever changes it, also twice.
func TestACacheWithABoundByBytesCountsWhatItHas(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		const most = 4000
		r.boundBytes(most, "LRU")
		random := rand.New(rand.NewPCG(uint64(time.Now().UnixNano()), 1))
		full := false
		for step := range redistest.Count(t, 300, 10_000) {
			r.clock.forward(time.Millisecond)
			key := fmt.Sprint("k", random.IntN(30))
			l := Life{TTL: time.Duration(random.IntN(3)) * 20 * time.Millisecond}
			value := strings.Repeat("v", random.IntN(500))
			switch random.IntN(12) {
			case 0:
				r.run(Remove, r.one(key), "0", r.now(), r.e.Publish(), key)
			case 1:
				r.write(Swap, key, string(Pack(nil, value, 0)), l.Ends(r.e.Wall()), "")
			case 2:
				r.run(Take, r.one(key), "0", r.now(), r.e.Publish(), key)
			case 3:
				r.write(PutIfAbsent, key, string(Pack(nil, value, 0)), "", "")
			case 4:
				r.run(sweepScript, append(r.n.All(), r.n.latch), r.e.ClientID, r.now(), r.e.Publish(), "800", "200", "1", "")
			case 5:
				r.put(key, value, l) // as one whose reply was lost
				r.put(key, value, l)
			case 6:
				r.put(key, strings.Repeat("v", most), l)
				require.NotContains(t, r.fields(), key, "more than all may be")
			default:
				r.put(key, value, l)
				require.Contains(t, r.fields(), key)
			}
			require.Equal(t, r.weighs(), r.counted(), step)
			require.LessOrEqual(t, r.counted(), int64(most))
			full = full || r.counted() > most*3/4
		}
		require.True(t, full, "it holds what it may")
	})
}

// TestABoundByBytesOrdersWhatGoes: as one of entries, and beside one.
func TestABoundByBytesOrdersWhatGoes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		r.boundBytes(3*(1+16+100), "LRU")
		hundred := strings.Repeat("v", 100)
		for _, key := range []string{"a", "b", "c"} {
			assert.EqualValues(t, 1, r.put(key, hundred, Life{TTL: time.Hour, Idle: time.Hour}), "a look in a while")
			r.clock.forward(time.Millisecond)
		}
		heard := r.listen()
		r.used("a", "LRU")
		r.clock.forward(time.Millisecond)
		r.put("d", hundred, Life{TTL: time.Hour})
		assert.Equal(t, []string{"a", "c", "d"}, r.fields())
		assert.ElementsMatch(t, []string{"a", "c", "d"}, r.members(r.n.Times))
		heard.expect(Event{Removed, "b", hundred, ""}, Event{Created, "d", hundred, ""})
		r.put("e", strings.Repeat("v", 1000), Life{})
		heard.expect(Event{Created, "e", strings.Repeat("v", 1000), ""}, Event{Removed, "e", strings.Repeat("v", 1000), ""})
		r.clock.forward(time.Millisecond)
		r.put("d", strings.Repeat("v", 101), Life{TTL: time.Hour})
		assert.Equal(t, []string{"a", "d"}, r.fields(), "one that grows pushes others out, too")
		r.bound(1, "LRU")
		r.put("e", "v", Life{})
		assert.Equal(t, []string{"e"}, r.fields(), "each bound for itself")
		r.bound(0, "LRU")
		assert.EqualValues(t, 1, r.count("ZCARD", r.n.Accesses), "the order stays for the other bound")
		r.boundBytes(0, "LRU")
		assert.Zero(t, r.count("EXISTS", r.n.Accesses))
		assert.Zero(t, r.put("f", strings.Repeat("v", 1000), Life{}))
	})
}

// TestWhatABoundByBytesFindsIsSampled: what was there before it, and what others write beside it.
func TestWhatABoundByBytesFindsIsSampled(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		theirs := func(from, to int) { // as Redisson, which knows nothing of bytes
			args := []string{"HSET", r.n.Hash}
			for i := from; i < to; i++ {
				args = append(args, fmt.Sprintf("%04d", i), packed(strings.Repeat("v", 80), 0))
			}
			r.do(args...)
		}
		theirs(0, 400)
		r.boundBytes(1_000_000, "LRU")
		require.EqualValues(t, 400*100, r.counted(), "all are alike")
		r.boundBytes(20_000, "LRU")
		s := sweeperOn(r.e, nil)
		s.Expect(&r.n, r.e.Wall())
		require.Eventually(t, func() bool { return r.count("HLEN", r.n.Hash) == 200 }, soon, 5*time.Millisecond)
		require.Eventually(t, func() bool { return s.Len() == 0 }, soon, 5*time.Millisecond)
		require.Equal(t, r.weighs(), r.counted())
		theirs(1000, 1300)
		for range 60 { // each is a look of the sweeper
			r.run(sweepScript, append(r.n.All(), r.n.latch), r.e.ClientID, r.now(), r.e.Publish(), "800", "200", "1", "")
		}
		require.InEpsilon(t, r.weighs(), r.counted(), 0.05)
		require.EqualValues(t, 50_000, r.weighs(), "what they write is not bound")
		r.put("mine", "v", Life{})
		s.Expect(&r.n, r.e.Wall())
		require.Eventually(t, func() bool { return r.weighs() <= 21_000 }, soon, 5*time.Millisecond, "until we write")
		require.Contains(t, r.fields(), "mine")
		require.Eventually(t, func() bool { return s.Len() == 0 }, soon, 5*time.Millisecond)
		r.do("DEL", r.n.Hash)
		r.put("first", "v", Life{})
		require.Equal(t, r.weighs(), r.counted(), "all has gone behind our backs")
	})
}

// TestACacheWithABoundByBytesGoesAsAWhole: its order ends with it, also where that comes later.
func TestACacheWithABoundByBytesGoesAsAWhole(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		r.boundBytes(1000, "LRU")
		r.do("HSET", r.n.Hash, "theirs", packed("v", 0)) // in no order
		r.put("a", "v", Life{})
		r.run(Expire, r.n.All(), "0", "3600000")
		r.run(Remove, r.one("a"), "0", r.now(), r.e.Publish(), "a")
		r.put("b", "v", Life{})
		for _, key := range r.n.All() {
			require.Positive(t, r.count("PTTL", key), key)
		}
	})
}

// TestOptionsByBytesThatNobodyUnderstandsAreNone: see TestOptionsThatNobodyUnderstandsAreNone.
func TestOptionsByBytesThatNobodyUnderstandsAreNone(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		for _, most := range []string{"", "0", "-5", "many", "nan", "inf", "1e300"} {
			r.do("HSET", r.n.Options, "rueidisson-max-bytes", most, "rueidisson-bytes", "nan")
			for _, s := range []string{"a", "b"} {
				assert.Zero(t, r.put(s, "v", Life{}), most)
			}
		}
		r.do("HSET", r.n.Options, "rueidisson-max-bytes", "100")
		r.put("c", "v", Life{})
		assert.EqualValues(t, 18, r.counted(), "and what it has is what a sweeper finds")
	})
}
