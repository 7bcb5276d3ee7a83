package mapcache

import (
	"strconv"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/internal/scripts"
)

// fast is the script of the common case, and whether it was one.
func (r *rig) fast(key, value string, l Life) bool {
	r.t.Helper()
	now := r.e.Wall()
	on := []string{r.n.Hash, r.n.Times, r.n.Rests, r.n.Options, r.n.Lease(key)}
	msg := r.run(Put, on, key, packed(value, l.Idle), l.Ends(now), l.Rests(now))
	return msg.IsInt64()
}

func TestBothWaysToPutWriteTheSame(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		ways := map[string]func(*rig, string, string, Life){
			"put": func(r *rig, key, value string, l Life) { require.True(r.t, r.fast(key, value, l)) },
			"put_bounded": func(r *rig, key, value string, l Life) {
				_, did := r.stored(PutBounded, key, value, l)
				n, err := did.AsInt64()
				require.NoError(r.t, err)
				require.EqualValues(r.t, 1, n)
			},
			"put_many": func(r *rig, key, value string, l Life) { r.put(key, value, l) },
			"swap":     func(r *rig, key, value string, l Life) { r.stored(Swap, key, value, l) },
			"changed":  func(r *rig, key, value string, l Life) { r.changed(key, value, l) },
		}
		for way, put := range ways {
			r := rigOn(t, raw, redistest.Name(t)+way)
			put(r, "k", "v", Life{})
			assert.Equal(t, entry{packed: packed("v", 0)}, r.entry("k"), way)
			put(r, "k", "w", Life{TTL: time.Second})
			assert.Equal(t, entry{packed("w", 0), at(time.Second), ""}, r.entry("k"), way)
			if way == "changed" {
				continue // it leaves what there is
			}
			put(r, "k", "x", Life{TTL: time.Minute, Idle: time.Second})
			assert.Equal(t, entry{packed("x", time.Second), at(time.Minute), at(time.Second)}, r.entry("k"), way)
			put(r, "k", "y", Life{Idle: time.Minute})
			assert.Equal(t, entry{packed("y", time.Minute), "", at(time.Minute)}, r.entry("k"), way)
			put(r, "k", "z", Life{})
			assert.Equal(t, entry{packed: packed("z", 0)}, r.entry("k"), way)
			assert.Equal(t, []string{r.n.Hash}, r.left(), "%s: the sets beside it are empty again", way)
		}
	})
}

// changed writes what is or is not there by change.lua.
func (r *rig) changed(key, value string, l Life) {
	r.t.Helper()
	seen, now := "", r.e.Wall()
	if there := r.get(key); there != "-" {
		seen = "=" + there
	}
	_, did := r.write(Change, key, seen, packed(value, l.Idle), l.Ends(now), l.Rests(now), "", "0")
	n, err := did.AsInt64()
	require.NoError(r.t, err)
	require.EqualValues(r.t, 1, n)
}

func TestTheCommonCasesAreNoneWhereThereIsMoreToDo(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.do("HSET", r.n.Options, "max-size", "0")
	assert.False(t, r.fast("k", "v", Life{}), "put_bounded.lua does it")
	assert.Equal(t, []string{r.n.Options}, r.left(), "nothing was done")
	r.do("HSET", r.n.Options, "has-listeners", "1")
	assert.False(t, r.fast("k", "v", Life{}), "put_many.lua does it")
	left, options := r.stored(PutBounded, "k", "v", Life{TTL: time.Second, Idle: time.Second})
	assert.Zero(t, left)
	said, err := options.ToArray()
	require.NoError(t, err)
	assert.Len(t, said, 4)
	assert.Equal(t, []string{r.n.Options}, r.left(), "nothing was done")
}

func TestReadingKnowsWhatLives(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		reads := map[string]func(key string) string{
			"get": r.get,
			"get of several": func(key string) string {
				texts := r.texts(r.run(Get, r.n.All()[:4], r.now(), "", "none", key))
				require.Equal(t, "-", texts[0])
				return texts[1]
			},
			"has": func(key string) string {
				msg := r.run(Has, r.n.All(), key, r.now())
				n, err := msg.AsInt64()
				require.NoError(t, err)
				return []string{"-", "v"}[n]
			},
			"scan": func(key string) string {
				msg := r.run(Scan, r.n.All()[:3], "0", r.now(), "1", "1", "1000", "1000000")
				parts, err := msg.ToArray()
				require.NoError(t, err)
				pairs, err := parts[1].AsStrSlice()
				require.NoError(t, err)
				for i := 0; i < len(pairs); i += 2 {
					if pairs[i] == key {
						v, err := Unpack(pairs[i+1])
						require.NoError(t, err)
						return v
					}
				}
				return "-"
			},
		}
		r.put("ttl", "v", Life{TTL: time.Second})
		r.put("both", "v", Life{TTL: 10 * time.Second, Idle: time.Second})
		r.put("ever", "v", Life{})
		r.do("ZADD", r.n.Rests, "1", "ever") // as Redisson leaves it behind: of no account
		r.put("unrested", "v", Life{Idle: time.Second})
		r.do("ZREM", r.n.Rests, "unrested")
		for way, read := range reads {
			assert.Equal(t, "v", read("ttl"), way)
			assert.Equal(t, "v", read("ever"), way)
			assert.Equal(t, "v", read("both"), way)
			assert.Equal(t, "v", read("unrested"), way)
			assert.Equal(t, "-", read("no such"), way)
		}
		assert.Equal(t, at(time.Second), r.entry("unrested").rests, "reading has put that right")
		r.clock.forward(time.Second - time.Millisecond)
		assert.Equal(t, "v", r.get("both"), "which puts off its end")
		r.clock.forward(time.Millisecond) // an end that is now is over
		for way, read := range reads {
			assert.Equal(t, "-", read("ttl"), way)
			assert.Equal(t, "v", read("ever"), way)
			assert.Equal(t, "v", read("both"), way)
		}
		r.clock.forward(2 * time.Second)
		for way, read := range reads {
			assert.Equal(t, "-", read("both"), way)
		}
		assert.EqualValues(t, 4, r.count("HLEN", r.n.Hash), "nobody has swept")
	})
}

func TestTTL(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	ttl := func(key string) int64 {
		msg := r.run(TTL, r.n.All()[:3], key, r.now())
		n, err := msg.AsInt64()
		require.NoError(t, err)
		return n
	}
	r.put("ttl", "v", Life{TTL: 3 * time.Second})
	r.put("idle", "v", Life{TTL: 3 * time.Second, Idle: 2 * time.Second})
	r.put("ever", "v", Life{})
	r.do("ZADD", r.n.Rests, "1", "ever")
	r.clock.forward(time.Second)
	assert.EqualValues(t, 2000, ttl("ttl"))
	assert.EqualValues(t, 1000, ttl("idle"))
	assert.EqualValues(t, 1000, ttl("idle"), "looking is no access")
	assert.EqualValues(t, -1, ttl("ever"))
	assert.EqualValues(t, -2, ttl("no such"))
	r.clock.forward(time.Second)
	assert.EqualValues(t, -2, ttl("idle"))
	r.do("ZADD", r.n.Times, "inf", "ever")
	assert.EqualValues(t, -1, ttl("ever"), "whoever wrote that")
}

// Redisson leaves the old end where it writes over what has expired and was not swept (D2), writes over that where it is to
// replace what lives (D3), and makes entries that do not rest end as if they did (D1).
func TestWhatHasExpiredIsNotThere(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		for what, ways := range map[string]struct {
			with  Life
			after time.Duration
		}{
			"its time is over": {Life{TTL: time.Second}, time.Second},
			"it has rested":    {Life{TTL: time.Minute, Idle: time.Second}, time.Second},
		} {
			r := rigOn(t, raw, redistest.Name(t)+what)
			expired := func() {
				r.do("DEL", r.n.Hash, r.n.Times, r.n.Rests)
				r.put("k", "old", ways.with)
				r.clock.forward(ways.after)
			}
			for _, s := range []*scripts.Script{Swap, PutIfAbsent} {
				expired()
				_, old := r.stored(s, "k", "new", Life{})
				assert.Equal(t, "-", r.text(old), "%s: %s", s.Name, what)
				assert.Equal(t, entry{packed: packed("new", 0)}, r.entry("k"), "%s: %s: it is not born expired", s.Name, what)
			}
			expired()
			r.write(Add, "k", "hincrby", "5", packed("", 0)[:8], "", "", "", "")
			assert.Equal(t, entry{packed: packed("5", 0)}, r.entry("k"), what)
			expired()
			was := r.entry("k")
			_, did := r.stored(Replace, "k", "new", Life{})
			n, err := did.AsInt64()
			require.NoError(t, err)
			assert.Zero(t, n, what)
			_, there := r.write(Change, "k", "=old", packed("new", 0), "", "", "", "0")
			assert.True(t, there.IsNil(), what)
			assert.Equal(t, was, r.entry("k"), what)
			msg := r.run(Touch, r.n.All(), "0", r.now(), r.e.Publish(), "k", at(time.Hour), "=", "=")
			n, err = msg.AsInt64()
			require.NoError(t, err)
			assert.Zero(t, n, what)
			msg = r.run(Take, r.one("k"), "0", r.now(), r.e.Publish(), "k")
			assert.True(t, msg.IsNil(), what)
			assert.Equal(t, was, r.entry("k"), "it is the sweeper's")
		}
	})
}

func TestPutIfAbsentOfWhatLivesOnlyReads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	r.put("k", "v", Life{}) // no idle time
	_, there := r.stored(PutIfAbsent, "k", "w", Life{TTL: time.Second, Idle: time.Second})
	assert.Equal(t, "v", r.text(there))
	assert.Equal(t, entry{packed: packed("v", 0)}, r.entry("k"), "D1: nothing that would end it")
	r.put("k", "v", Life{Idle: time.Second})
	r.clock.forward(time.Second / 2)
	r.stored(PutIfAbsent, "k", "w", Life{})
	assert.Equal(t, at(1500*time.Millisecond), r.entry("k").rests, "an access like another")
}

func TestWhatIsReplacedKeepsItsTimes(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		ways := map[string]func(l Life){
			"replace": func(l Life) { r.stored(Replace, "k", "2", l) },
			"change":  func(l Life) { r.changed("k", "2", l) },
			"add": func(l Life) {
				_, sum := r.write(Add, "k", "hincrby", "1", packed("", l.Idle)[:8], l.Ends(r.e.Wall()), l.Rests(r.e.Wall()), "", "")
				text, err := sum.ToString()
				require.NoError(t, err)
				assert.Equal(t, "2", text)
			},
			"put": func(l Life) { l.Keep = l == Life{}; r.put("k", "2", l) },
		}
		for way, do := range ways {
			began := r.e.Wall()
			in := func(d time.Duration) string { return strconv.FormatInt(began+d.Milliseconds(), 10) }
			r.put("k", "1", Life{TTL: time.Hour, Idle: time.Minute})
			r.clock.forward(time.Second)
			do(Life{})
			assert.Equal(t, entry{packed("2", time.Minute), in(time.Hour), in(61 * time.Second)}, r.entry("k"), way)
			r.put("k", "1", Life{TTL: time.Hour, Idle: time.Minute})
			if way != "put" {
				do(Life{TTL: 2 * time.Hour})
				assert.Equal(t, entry{packed("2", time.Minute), in(2*time.Hour + time.Second), in(61 * time.Second)}, r.entry("k"), way)
				r.put("k", "1", Life{TTL: time.Hour, Idle: time.Minute})
			}
			do(Life{TTL: 2 * time.Hour, Idle: time.Hour})
			assert.Equal(t, entry{packed("2", time.Hour), in(2*time.Hour + time.Second), in(time.Hour + time.Second)}, r.entry("k"), way)
			// D20: an idle time without a member is no error.
			r.do("ZREM", r.n.Rests, "k")
			r.do("ZREM", r.n.Times, "k")
			r.do("HSET", r.n.Hash, "k", packed("1", time.Minute))
			do(Life{})
			assert.Equal(t, entry{packed("2", time.Minute), "", in(61 * time.Second)}, r.entry("k"), way)
		}
	})
}

func TestChangeIsDoneIfTheEntryIsWhatTheCallerHasSeen(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	_, there := r.write(Change, "k", "=v", packed("w", 0), "", "", "", "0")
	assert.True(t, there.IsNil())
	r.put("k", "v", Life{Idle: time.Minute})
	for _, seen := range []string{"", "=", "=w", "=vv"} {
		_, there = r.write(Change, "k", seen, packed("w", 0), "", "", "", "0")
		assert.Equal(t, "v", r.text(there))
	}
	_, did := r.write(Change, "k", "=v", "", "", "", "", "0")
	n, err := did.AsInt64()
	require.NoError(t, err)
	assert.EqualValues(t, 1, n)
	assert.Empty(t, r.left(), "removed, with all that belongs to it")
	r.put("k", "", Life{})
	_, there = r.write(Change, "k", "", packed("w", 0), "", "", "", "0")
	assert.Equal(t, "", r.text(there), "an empty value is one")
}

func TestAddCountsExactly(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		add := func(cmd, by, least, most string) rueidis.RedisMessage {
			_, sum := r.write(Add, "k", cmd, by, packed("", time.Minute)[:8], at(time.Hour), at(time.Minute), least, most)
			return sum
		}
		text := func(m rueidis.RedisMessage) string { s, err := m.ToString(); require.NoError(t, err); return s }
		assert.Equal(t, "9007199254740993", text(add("hincrby", "9007199254740993", "", "")), "above 2^53")
		assert.Equal(t, "9007199254740994", text(add("hincrby", "1", "", "")))
		assert.Equal(t, entry{packed("9007199254740994", time.Minute), at(time.Hour), at(time.Minute)}, r.entry("k"))
		r.put("k", "10", Life{})
		none := add("hincrby", "5", "", "12")
		assert.True(t, none.IsNil(), "out of bounds")
		none = add("hincrby", "-15", "0", "")
		assert.True(t, none.IsNil())
		assert.Equal(t, packed("10", 0), r.entry("k").packed)
		assert.Equal(t, "10.5", text(add("hincrbyfloat", "0.5", "", "")))
		_, err := r.tried(Add, r.one("k"), []string{"0", r.now(), r.e.Publish(), "k", "hincrby", "1", packed("", 0)[:8], "", "", "", ""})
		require.ErrorContains(t, err, "not an integer")
		assert.EqualValues(t, 1, r.count("HLEN", r.n.Hash), "and nothing is left of the attempt")
	})
}

func TestRemoveCountsWhatLivedAndTellsOfTheOthersAsExpired(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		r.put("live", "1", Life{TTL: time.Minute, Idle: time.Minute})
		r.put("over", "2", Life{TTL: time.Second})
		r.clock.forward(time.Second)
		heard := r.listen()
		remove := func(keys ...string) int64 {
			on := r.n.All()
			for _, key := range keys {
				on = append(on, r.n.Lease(key))
			}
			msg := r.run(Remove, on, append([]string{"0", r.now(), r.e.Publish()}, keys...)...)
			n, err := msg.AsInt64()
			require.NoError(t, err)
			return n
		}
		assert.EqualValues(t, 1, remove("live", "over", "no such"))
		heard.expect(Event{Removed, "live", "1", ""}, Event{Expired, "over", "2", ""})
		assert.Equal(t, []string{r.n.Options}, r.left())
		assert.EqualValues(t, 0, remove("live"))
	})
}

func TestEventsOfEachWrite(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		heard := r.listen()
		for _, c := range []struct {
			what string
			do   func()
			want []Event
		}{
			{"created", func() { r.put("k", "v", Life{TTL: time.Minute}) }, []Event{{Created, "k", "v", ""}}},
			{"updated", func() { r.put("k", "w", Life{TTL: time.Minute}) }, []Event{{Updated, "k", "w", "v"}}},
			{"swapped", func() { r.stored(Swap, "k", "x", Life{Idle: time.Hour}) }, []Event{{Updated, "k", "x", "w"}}},
			{"replaced", func() { r.stored(Replace, "k", "y", Life{}) }, []Event{{Updated, "k", "y", "x"}}},
			{"changed", func() { r.changed("k", "7", Life{}) }, []Event{{Updated, "k", "7", "y"}}},
			{"added to", func() { r.write(Add, "k", "hincrby", "1", packed("", 0)[:8], "", "", "", "") }, []Event{{Updated, "k", "8", "7"}}},
			{"taken", func() { r.run(Take, r.one("k"), "0", r.now(), r.e.Publish(), "k") }, []Event{{Removed, "k", "8", ""}}},
			{"put if absent", func() { r.stored(PutIfAbsent, "k", "a", Life{}) }, []Event{{Created, "k", "a", ""}}},
			{"compared and removed", func() { r.write(Change, "k", "=a", "", "", "", "", "0") }, []Event{{Removed, "k", "a", ""}}},
			{"many", func() {
				r.put("k", "old", Life{})
				on := append(r.n.All(), r.n.Lease("k"), r.n.Lease(""))
				r.run(PutMany, on, "0", r.now(), r.e.Publish(), "", "", "k", packed("new", 0), "", packed("", 0))
			}, []Event{{Created, "k", "old", ""}, {Updated, "k", "new", "old"}, {Created, "", "", ""}}},
		} {
			c.do()
			heard.expect(c.want...)
		}
		r.stored(PutIfAbsent, "k", "b", Life{})
		r.run(Touch, r.n.All(), "0", r.now(), r.e.Publish(), "k", at(time.Hour), "=", "=")
		r.put("last", "", Life{})
		heard.expect(Event{Created, "last", "", ""}) // and nothing of what changed no value
	})
}

func TestTouch(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	touch := func(ends, idle, rests string) {
		r.run(Touch, r.n.All(), "0", r.now(), r.e.Publish(), "k", ends, idle, rests)
	}
	r.put("k", "v", Life{TTL: time.Hour, Idle: time.Minute})
	r.clock.forward(time.Second)
	touch("=", "=", "=")
	assert.Equal(t, entry{packed("v", time.Minute), at(time.Hour), at(61 * time.Second)}, r.entry("k"))
	touch(at(2*time.Hour), "=", "=")
	assert.Equal(t, entry{packed("v", time.Minute), at(2 * time.Hour), at(61 * time.Second)}, r.entry("k"))
	touch("=", packed("", time.Hour)[:8], at(time.Hour))
	assert.Equal(t, entry{packed("v", time.Hour), at(2 * time.Hour), at(time.Hour)}, r.entry("k"))
	touch("", packed("", 0)[:8], "")
	assert.Equal(t, entry{packed("v", 0), "", ""}, r.entry("k"))
}

// D24: whoever loads an entry has a lease, and writes only while it stands.
func TestEveryWriteAndRemovalEndsTheLeaseOfWhoLoads(t *testing.T) {
	t.Parallel()
	r := newRig(t)
	lease := r.n.Lease("k")
	writes := map[string]func(){
		"put":           func() { r.fast("k", "v", Life{}) },
		"put with ttl":  func() { r.fast("k", "v", Life{TTL: time.Second}) },
		"put_many":      func() { r.put("k", "v", Life{}) },
		"swap":          func() { r.stored(Swap, "k", "v", Life{}) },
		"put_if_absent": func() { r.do("DEL", r.n.Hash); r.stored(PutIfAbsent, "k", "v", Life{}) },
		"replace":       func() { r.put("k", "v", Life{}); r.do("SET", lease, "token"); r.stored(Replace, "k", "v", Life{}) },
		"change":        func() { r.do("DEL", r.n.Hash); r.changed("k", "v", Life{}) },
		"add":           func() { r.do("DEL", r.n.Hash); r.write(Add, "k", "hincrby", "1", packed("", 0)[:8], "", "", "", "") },
		"take":          func() { r.run(Take, r.one("k"), "0", r.now(), r.e.Publish(), "k") },
		"remove":        func() { r.run(Remove, r.one("k"), "0", r.now(), r.e.Publish(), "k") },
		"remove of none": func() {
			r.do("DEL", r.n.Hash)
			r.run(Remove, r.one("k"), "0", r.now(), r.e.Publish(), "k")
		},
	}
	for what, write := range writes {
		r.do("SET", lease, "token")
		write()
		assert.Zero(t, r.count("EXISTS", lease), what)
	}
}

func TestARequestWithAnIDIsDoneOnce(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		done := r.n.Lease("done") // of the same slot
		again := func(s *scripts.Script, args ...string) (first, second rueidis.RedisMessage) {
			on := append(r.one("k"), done)
			if s == Touch {
				on = append(r.n.All(), done)
			}
			args = append([]string{"45000", r.now(), r.e.Publish()}, args...)
			defer r.do("DEL", done)
			first = r.run(s, on, args...)
			assert.Positive(t, r.count("PTTL", done), s.Name)
			r.do("HSET", r.n.Hash, "k", packed("another's", 0))
			second = r.run(s, on, args...)
			assert.Equal(t, packed("another's", 0), r.entry("k").packed, "%s: a second run changes nothing", s.Name)
			return first, second
		}
		same := func(s *scripts.Script, args ...string) {
			first, second := again(s, args...)
			one, err := first.ToArray()
			if err != nil {
				assert.Equal(t, first.String(), second.String(), s.Name)
				return
			}
			two, err := second.ToArray()
			require.NoError(t, err)
			assert.Equal(t, one[1].String(), two[1].String(), s.Name)
		}
		same(PutMany, "", "", "k", packed("v", 0))
		same(Swap, "k", packed("v", 0), "", "")
		same(PutIfAbsent, "k", packed("v", 0), "", "")
		r.do("DEL", r.n.Hash)
		same(PutIfAbsent, "k", packed("v", 0), "", "")
		same(Replace, "k", packed("v", 0), "", "")
		same(Change, "k", "=another's", packed("v", 0), "", "", "", "0")
		same(Change, "k", "=nobody's", packed("v", 0), "", "", "", "0")
		same(Take, "k")
		same(Remove, "k")
		same(Touch, "k", "", "=", "=")
		r.do("DEL", r.n.Hash)
		same(Add, "k", "hincrby", "1", packed("", 0)[:8], "", "", "", "")
	})
}

func TestTheWholeCacheGoesAndStays(t *testing.T) {
	t.Parallel()
	everywhere(t, func(t *testing.T, raw rueidis.Client) {
		r := rigOn(t, raw, redistest.Name(t))
		expire := func(d time.Duration) int64 {
			msg := r.run(Expire, r.n.All(), "0", strconv.FormatInt(d.Milliseconds(), 10))
			n, err := msg.AsInt64()
			require.NoError(t, err)
			return n
		}
		assert.Zero(t, expire(time.Hour))
		r.put("k", "v", Life{TTL: time.Minute})
		r.run(SetBound, []string{r.n.Options, r.n.Accesses}, "10", "LRU")
		assert.EqualValues(t, 1, expire(time.Hour))
		for _, key := range r.n.All() {
			left := r.count("PTTL", key)
			assert.True(t, left > 0 && left <= time.Hour.Milliseconds(), "%s: %d", key, left) // D4
		}
		r.put("later", "v", Life{Idle: time.Minute})
		assert.Positive(t, r.count("PTTL", r.n.Rests), "what comes later goes, too")
		assert.Equal(t, "v", r.get("later"))
		r.run(Persist, r.n.All(), "0")
		for _, key := range r.n.All() {
			if r.count("EXISTS", key) == 1 {
				assert.EqualValues(t, -1, r.count("PTTL", key), key)
			}
		}
		assert.EqualValues(t, 1, r.count("ZCARD", r.n.Times), "the tag has gone")
		assert.EqualValues(t, 1, r.count("ZCARD", r.n.Rests))
	})
}
