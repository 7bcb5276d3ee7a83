package nearcache

import (
	"encoding/hex"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/keys"
	"github.com/rueidisson/rueidisson/internal/pubsub"
	"github.com/rueidisson/rueidisson/internal/redistest"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/internal/mapstore"
	"github.com/rueidisson/rueidisson/rmap/internal/maptest"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

// announcers are two near caches of one map, as in two processes.
func announcers(t *testing.T, raw rueidis.Client, opts ...rmap.MapOption) (a, b *Cache[string, string]) {
	name := maptest.Named(t, raw)
	opts = append(opts, rmap.WithAnnounce(), rmap.WithValueCodec(maptest.TextCodec()))
	a = New(rmap.New[string, string](maptest.EngineOn(t, raw), name, opts...), WithAnnounced())
	b = New(rmap.New[string, string](maptest.EngineOn(t, raw), name, opts...), WithAnnounced())
	t.Cleanup(a.Close)
	t.Cleanup(b.Close)
	return a, b
}

func TestWritersTellWhatTheyChange(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		for _, opts := range [][]rmap.MapOption{nil, {rmap.WithRequestIDs()}} {
			a, b := announcers(t, raw, opts...)
			m := a.m.(*rmap.Map[string, string])
			ctx := t.Context()
			for what, write := range map[string]func() (want string){
				"put": func() string { require.NoError(t, a.Put(ctx, "k", "put")); return "put" },
				"put many": func() string {
					require.NoError(t, a.PutMany(ctx, map[string]string{"k": "many", "l": "x"}))
					return "many"
				},
				"swap":    func() string { _, _, err := a.Swap(ctx, "k", "swap"); require.NoError(t, err); return "swap" },
				"replace": func() string { _, err := a.Replace(ctx, "k", "replace"); require.NoError(t, err); return "replace" },
				"swap if": func() string {
					_, err := a.CompareAndSwap(ctx, "k", "old", "cas")
					require.NoError(t, err)
					return "cas"
				},
				"remove if":     func() string { _, err := a.CompareAndRemove(ctx, "k", "old"); require.NoError(t, err); return "" },
				"remove":        func() string { _, err := a.Remove(ctx, "k", "none"); require.NoError(t, err); return "" },
				"take":          func() string { _, _, err := a.Take(ctx, "k"); require.NoError(t, err); return "" },
				"clear":         func() string { require.NoError(t, a.Clear(ctx)); return "" },
				"delete":        func() string { _, err := m.Delete(ctx); require.NoError(t, err); return "" },
				"rename":        func() string { _, err := m.Rename(ctx, m.Name()+"{2}"); require.NoError(t, err); return "" },
				"expire":        func() string { _, err := m.Expire(ctx, time.Second); require.NoError(t, err); return "" },
				"put if absent": func() string { a.Remove(ctx, "k"); a.PutIfAbsent(ctx, "k", "absent"); return "absent" },
				"compute": func() string {
					_, _, err := a.Compute(ctx, "k", func(string, bool) (string, rmap.Verdict, error) { return "computed", rmap.Store, nil })
					require.NoError(t, err)
					return "computed"
				},
			} {
				t.Log(what)
				require.NoError(t, a.Put(ctx, "k", "old"), what)
				require.NoError(t, a.Put(ctx, "other", "o"), what)
				becomes(t, b, "k", "old")
				hot(t, b, "k", "old")
				if what == "rename" && raw.Mode() != rueidis.ClientModeCluster {
					defer raw.Do(ctx, raw.B().Del().Key(m.Name()+"{2}").Build())
				}
				want := write()
				v, _, err := a.Get(ctx, "k")
				require.NoError(t, err)
				if what != "expire" {
					require.Equal(t, want, v, what)
				}
				becomes(t, b, "k", want)
			}
			assert.NotZero(t, b.Stats().Hits)
		}
	})
}

func TestOnlyTheEntryThatWasWrittenIsDropped(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	a, b := announcers(t, raw)
	require.NoError(t, a.PutMany(t.Context(), map[string]string{"k": "v", "l": "v"}))
	hot(t, b, "k", "v")
	hot(t, b, "l", "v")
	before := b.Stats()
	require.NoError(t, a.Put(t.Context(), "k", "w"))
	becomes(t, b, "k", "w")
	_, counts := b.hit("l")
	assert.True(t, counts)
	assert.Equal(t, before.WholeDrops, b.Stats().WholeDrops)
}

func TestWhatIsPublishedIsWhatRedissonPublishes(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	a, _ := announcers(t, raw)
	m := a.m.(*rmap.Map[string, string])
	heard := make(chan string, 10)
	go raw.Receive(t.Context(), raw.B().Subscribe().Channel(keys.NearChannel(a.Name())).Build(), func(m rueidis.PubSubMessage) {
		heard <- m.Message
	})
	redistest.Eventually(t, func() bool {
		n, err := raw.Do(t.Context(), raw.B().PubsubNumsub().Channel(keys.NearChannel(a.Name())).Build()).AsMap()
		if err != nil {
			return false
		}
		v := n[keys.NearChannel(a.Name())]
		subs, _ := v.AsInt64()
		return subs == 1
	}, maptest.Soon, time.Millisecond)
	id := hex.EncodeToString([]byte(m.Inside().Handle.Hub.ID))
	require.Len(t, id, 32)
	hash := "0610392ec6557ad68bcb58c345594726"
	require.NoError(t, a.Put(t.Context(), "abc", "v"))
	assert.Equal(t, "01"+id+"00000001"+hash, hex.EncodeToString([]byte(<-heard)))
	_, err := a.Remove(t.Context(), "abc")
	require.NoError(t, err)
	assert.Equal(t, "01"+id+"00000001"+hash, hex.EncodeToString([]byte(<-heard)))

	// The log is kept where somebody has begun one.
	log := keys.NearLog(a.Name())
	there, err := raw.Do(t.Context(), raw.B().Exists().Key(log).Build()).AsInt64()
	require.NoError(t, err)
	require.Zero(t, there)
	require.NoError(t, raw.Do(t.Context(), raw.B().Zadd().Key(log).ScoreMember().ScoreMember(1, "x").Build()).Error())
	require.NoError(t, a.Put(t.Context(), "abc", "v"))
	<-heard
	logged, err := raw.Do(t.Context(), raw.B().Zrange().Key(log).Min("1").Max("1").Withscores().Build()).AsZScores()
	require.NoError(t, err)
	require.Len(t, logged, 1)
	assert.InDelta(t, time.Now().UnixMilli(), logged[0].Score, 60_000)
	member := hex.EncodeToString([]byte(logged[0].Member))
	assert.Len(t, member, 2*(16+1+8))
	assert.True(t, strings.HasPrefix(member, hash+"3a"), member)

	require.NoError(t, a.Clear(t.Context()))
	cleared := hex.EncodeToString([]byte(<-heard))
	assert.True(t, strings.HasPrefix(cleared, "00"+id) && strings.HasSuffix(cleared, "00") && len(cleared) == 2*34, cleared)
}

// publish says something as Redisson does.
func says(t testing.TB, raw rueidis.Client, name, message string) {
	t.Helper()
	b, err := hex.DecodeString(strings.ReplaceAll(message, " ", ""))
	require.NoError(t, err)
	require.NoError(t, raw.Do(t.Context(), raw.B().Publish().Channel(keys.NearChannel(name)).Message(string(b)).Build()).Error())
}

const (
	someID  = "000102030405060708090a0b0c0d0e0f"
	hashAbc = "0610392ec6557ad68bcb58c345594726"
)

func TestWhatRedissonSaysIsHeard(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	_, n := announcers(t, raw)
	for what, message := range map[string]string{
		"clear":      "00" + someID + someID + "00",
		"invalidate": "01" + someID + "00000001" + hashAbc,
		"two":        "01" + someID + "00000002" + someID + hashAbc,
		"update":     "02" + someID + "00000003 616263 00000002 7676",
		"keys":       "52 00000001 78 00000003 616263",
		"any key":    "52",
		"enable":     "05 02 3066 00 00000001" + hashAbc,
		"garbage":    "ff",
		"cut":        "01" + someID + "00000009",
	} {
		puts(t, raw, n.Name(), "abc", "old")
		says(t, raw, n.Name(), "00"+someID+someID+"00") // of the write before
		becomes(t, n, "abc", "old")
		hot(t, n, "abc", "old")
		puts(t, raw, n.Name(), "abc", "new")
		v, _, err := n.Get(t.Context(), "abc")
		require.NoError(t, err)
		require.Equal(t, "old", v, "nobody has said so")
		says(t, raw, n.Name(), message)
		becomes(t, n, "abc", "new")
		t.Log(what)
	}
}

func TestATransactionOfRedissonsKeepsCopiesAway(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	_, n := announcers(t, raw)
	puts(t, raw, n.Name(), "abc", "old")
	hot(t, n, "abc", "old")
	ack := make(chan string, 1)
	channel := keys.NearAck(n.Name(), "0f")
	go raw.Receive(t.Context(), raw.B().Subscribe().Channel(channel).Build(), func(m rueidis.PubSubMessage) { ack <- m.Message })
	redistest.Eventually(t, func() bool {
		n, err := raw.Do(t.Context(), raw.B().PubsubNumsub().Channel(channel).Build()).AsMap()
		v := n[channel]
		subs, _ := v.AsInt64()
		return err == nil && subs == 1
	}, maptest.Soon, time.Millisecond)
	says(t, raw, n.Name(), "03 02 3066 0000000000007530 00 00000001"+hashAbc)
	assert.Equal(t, "\x04", <-ack)
	before := n.Stats().Hits
	for range 10 {
		v, _, err := n.Get(t.Context(), "abc")
		require.NoError(t, err)
		require.Equal(t, "old", v)
	}
	assert.Equal(t, before, n.Stats().Hits, "nothing is kept meanwhile")
	puts(t, raw, n.Name(), "abc", "new")
	says(t, raw, n.Name(), "05 02 3066 00 00000001"+hashAbc)
	becomes(t, n, "abc", "new")
	hot(t, n, "abc", "new")
}

func TestWhoWaitsUntilAllIsDroppedIsTold(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	_, n := announcers(t, raw)
	puts(t, raw, n.Name(), "abc", "v")
	hot(t, n, "abc", "v")
	semaphore := keys.NearCleared(n.Name(), someID)
	require.NoError(t, raw.Do(t.Context(), raw.B().Set().Key(semaphore).Value("0").Px(60_000*time.Millisecond).Build()).Error())
	says(t, raw, n.Name(), "00"+someID+someID+"01")
	redistest.Eventually(t, func() bool {
		permits, err := raw.Do(t.Context(), raw.B().Get().Key(semaphore).Build()).AsInt64()
		require.NoError(t, err)
		return permits == 1
	}, maptest.Soon, time.Millisecond)
}

func TestAnInterruptedSubscriptionDropsAll(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := redistest.NewProxy(t, server.Addr())
	behind, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{proxy.Addr()}, DisableCache: true, ForceSingleClient: true})
	require.NoError(t, err)
	t.Cleanup(behind.Close)
	const silence = 600 * time.Millisecond
	n := New(rmap.New[string, string](maptest.EngineOn(t, behind), "m", rmap.WithAnnounce(), rmap.WithValueCodec(maptest.TextCodec())), WithAnnounced(), WithMaxSilence(silence))
	t.Cleanup(n.Close)
	raw := server.Client(t)
	w := rmap.New[string, string](maptest.EngineOn(t, raw), "m", rmap.WithAnnounce(), rmap.WithValueCodec(maptest.TextCodec()))
	require.NoError(t, w.Put(t.Context(), "k", "old"))
	hot(t, n, "k", "old")

	// A silent one.
	require.Equal(t, 1, proxy.BlackHoleConns(proxy.LastCarrier(redistest.Command("SUBSCRIBE"))))
	require.NoError(t, w.Put(t.Context(), "k", "new"))
	written := time.Now()
	for {
		asked := time.Now()
		v, _, err := n.Get(t.Context(), "k")
		require.NoError(t, err)
		if v == "new" {
			break
		}
		require.Less(t, asked.Sub(written), silence)
	}
	proxy.Restore() // cuts it
	hot(t, n, "k", "new")

	// One that ends.
	for _, want := range []string{"1", "2", "3"} {
		before := n.Stats().WholeDrops
		proxy.CutAll()
		require.NoError(t, w.Put(t.Context(), "k", want))
		redistest.Eventually(t, func() bool { return n.Stats().WholeDrops > before }, maptest.Soon, time.Millisecond)
		redistest.Eventually(t, func() bool {
			v, _, err := n.Get(t.Context(), "k")
			return err == nil && v == want
		}, maptest.Soon, time.Millisecond)
		redistest.Eventually(t, func() bool { _, counts := n.hit("k"); n.Get(t.Context(), "k"); return counts }, maptest.Soon, time.Millisecond)
	}
}

func TestAnnouncedNeedsWritersThatAnnounce(t *testing.T) {
	t.Parallel()
	raw := maptest.MiniredisClient(t)
	e := maptest.EngineOn(t, raw)
	n := New(rmap.New[string, string](e, "m"), WithAnnounced())
	_, _, err := n.Get(t.Context(), "k")
	require.ErrorIs(t, err, ErrInvalidArgument)
	_, _, err = New(rmap.NewCache[string, string](e, "m"), WithAnnounced()).Get(t.Context(), "k")
	require.ErrorIs(t, err, ErrInvalidArgument)
}

// TTLMap entries go by themselves, and nobody says so.
func TestAnEntryThatGoesByItselfIsNoCopy(t *testing.T) {
	t.Parallel()
	for what, near := range map[string][]Option{"announced": {WithAnnounced()}, "tracked": nil} {
		t.Run(what, func(t *testing.T) {
			t.Parallel()
			raw := redistest.Shared(t, redistest.Version("8.0")).Client(t)
			n := New(rmap.NewTTLMap[string, string](maptest.EngineOn(t, raw), maptest.Named(t, raw), rmap.WithAnnounce()), near...)
			defer n.Close()
			require.NoError(t, n.Put(t.Context(), "other", "v"))
			hot(t, n, "other", "v")
			require.NoError(t, n.Put(t.Context(), "k", "v", rmap.WithTTL(time.Second)))
			over := time.Now().Add(time.Second)
			for {
				asked := time.Now()
				_, there, err := n.Get(t.Context(), "k")
				require.NoError(t, err)
				if asked.After(over.Add(20 * time.Millisecond)) {
					require.False(t, there)
					return
				}
			}
		})
	}
}

func FuzzNearMessage(f *testing.F) {
	for _, text := range []string{
		"00" + someID + someID + "01", "01" + someID + "00000001" + hashAbc, "02" + someID + "00000003616263000000027676",
		"52" + "00000003616263", "52",
		"03023066" + "0000000000000bb8" + "00" + "00000001" + hashAbc, "04", "05023066" + "00" + "00000001" + hashAbc, "01" + someID + "ffffffff", "",
	} {
		b, err := hex.DecodeString(text)
		require.NoError(f, err)
		f.Add(b)
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMessage(string(b))
		if err != nil {
			require.ErrorIs(t, err, errMessage)
			require.Empty(t, m)
			return
		}
		require.True(t, m.kind <= mapstore.MsgEnable || m.kind == mapstore.MsgKeys)
		require.LessOrEqual(t, 4*len(m.hashes), len(b))
		if m.kind == mapstore.MsgInvalidate {
			require.Len(t, b, 21+16*len(m.hashes))
		}
	})
}

// TestNearAnnouncedArmsAtTheSameTimeSubscribeOnce, so that Close ends all of it.
func TestNearAnnouncedArmsAtTheSameTimeSubscribeOnce(t *testing.T) {
	t.Parallel()
	raw := redistest.Shared(t).Client(t)
	for range redistest.Count(t, 3, 10) {
		a, _ := announcers(t, raw)
		require.NoError(t, a.Put(t.Context(), "k", "v"))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() { _, _, err := a.Get(t.Context(), "k"); assert.NoError(t, err) })
			all.Go(func() { assert.NoError(t, a.Clear(t.Context())) })
		}
		all.Wait()
		a.Close()
		redistest.Eventually(t, func() bool {
			n, err := raw.Do(t.Context(), raw.B().PubsubNumsub().Channel(keys.NearChannel(a.Name())).Build()).AsMap()
			if err != nil {
				return false
			}
			of := n[keys.NearChannel(a.Name())]
			subs, err := of.AsInt64()
			return err == nil && subs == 0
		}, maptest.Soon, 10*time.Millisecond)
	}
}

// TestLoadingAnnouncesWhatItWrites to near caches that keep misses, as Redisson's do
// with storeCacheMiss; and that it has removed what its source has no more.
func TestLoadingAnnouncesWhatItWrites(t *testing.T) {
	t.Parallel()
	maptest.OnServers(t, func(t *testing.T, raw rueidis.Client) {
		name := maptest.Named(t, raw)
		a := &announced{o: &origin{born: time.Now()}, lanes: newLanes(fewLanes), mutes: map[string]time.Time{}}
		heard := make(chan struct{}, 10)
		lane := a.lanes.of(keys.Hash("5"))
		e := maptest.EngineOn(t, raw)
		a.h = mapstore.HubOf(e)
		sub, err := e.Vigil(t.Context(), keys.NearChannel(name), false, time.Hour, func(ev pubsub.Event) {
			if ev.Kind == pubsub.Message {
				a.told(ev.Payload)
				heard <- struct{}{}
			}
		})
		require.NoError(t, err)
		defer sub.Close()
		l := readthrough.New(rmap.New[string, int](maptest.EngineOn(t, raw), name, rmap.WithAnnounce()), maptest.Quick)
		redistest.Eventually(t, func() bool {
			_, err := l.Remove(t.Context(), "other") // which is announced, too
			require.NoError(t, err)
			return len(heard) > 0
		}, maptest.Soon, time.Millisecond)
		before := lane.Load()
		v, there, err := l.Get(t.Context(), "5")
		require.NoError(t, err)
		require.True(t, there)
		require.Equal(t, 5, v)
		redistest.Eventually(t, func() bool { return lane.Load() > before }, maptest.Soon, time.Millisecond)
	})
}
