package chaos

import (
	"errors"
	"log/slog"
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// ms are so many milliseconds of the record's clock.
func ms(n int64) int64 { return n * int64(time.Millisecond) }

func TestWaitsAndFaultsAreRead(t *testing.T) {
	t.Parallel()
	require.Equal(t, []wait{
		{1, 2, "a", 5, 9, false, false}, {1, 2, "a", 10, 12, true, true}, {1, 2, "b", 13, 14, false, false}, {2, 2, "a", 5, math.MaxInt64, false, false},
	}, waitsOf([]event{
		{Kind: asks, Proc: 1, Worker: 2, Hold: 1, Name: "a", At: 5},
		{Kind: trusts, Proc: 1, Worker: 2, Hold: 1, Name: "a", At: 9},
		{Kind: trusts, Proc: 1, Worker: 2, Hold: 1, Name: "a", At: 10},
		{Kind: asks, Proc: 1, Worker: 2, Hold: 2, Name: "a", At: 10},
		{Kind: refused, Proc: 1, Worker: 2, Hold: 2, Name: "a", At: 12, Busy: true},
		{Kind: asks, Proc: 1, Worker: 2, Hold: 3, Name: "b", At: 13},
		{Kind: lost, Proc: 1, Worker: 2, Hold: 3, Name: "b", At: 14},
		{Kind: asks, Proc: 2, Worker: 2, Hold: 1, Name: "a", At: 5},
	}))
	require.Equal(t, []fault{{"x", 1, 1, 7, 2}, {"y", everyone, 3, 8, 4}, {"killed process", 3, 9, math.MaxInt64, 9}}, faultsOf([]event{
		{Kind: breaks, Outcome: "x", Of: 1, At: 1}, {Kind: broken, Outcome: "x", Of: 1, At: 2},
		{Kind: breaks, Outcome: "y", At: 3}, {Kind: broken, Outcome: "y", At: 4},
		{Kind: heals, Outcome: "x", Of: 1, At: 7}, {Kind: heals, Outcome: "y", At: 8},
		{Kind: breaks, Outcome: "killed process", Of: 3, Value: 3, At: 9},
		{Kind: breaks, Outcome: "distance", Of: nobody, At: 9},
	}))
}

func TestPausesAreFound(t *testing.T) {
	t.Parallel()
	looks := func(from, to int64, owners ...string) (all []sample) {
		for at := from; at < to; at += 2 {
			all = append(all, sample{ms(at), ms(at + 1), owners})
		}
		return all
	}
	free := append(append(looks(0, 100, "one:1"), looks(100, 200)...), looks(200, 300, "two:1")...)
	waits := func(proc int, from, to int64) wait { return wait{proc: proc, from: ms(from), to: ms(to)} }
	for name, c := range map[string]struct {
		samples []sample
		spans   []span
		waits   []wait
		faults  []fault
		want    int64
	}{
		"all the time":             {free, nil, []wait{waits(1, 50, 250)}, nil, 98},
		"somebody came later":      {free, nil, []wait{waits(1, 150, 250)}, nil, 49},
		"and left before":          {free, nil, []wait{waits(1, 150, 160)}, nil, 10},
		"somebody was killed":      {free, nil, []wait{{proc: 1, from: ms(150), to: math.MaxInt64}}, []fault{{proc: 1, from: ms(160), to: math.MaxInt64}}, 10},
		"nobody waited":            {free, nil, []wait{waits(1, 210, 250)}, nil, 0},
		"two waited":               {free, nil, []wait{waits(1, 190, 250), waits(1, 140, 190)}, nil, 50},
		"held between two looks":   {free, []span{{from: ms(150), to: ms(152)}}, []wait{waits(1, 50, 250)}, nil, 49},
		"the server was not asked": {append(looks(0, 10), looks(500, 510)...), nil, []wait{waits(1, 0, 600)}, nil, 7},
		"a fault of the process":   {free, nil, []wait{waits(1, 50, 250)}, []fault{{proc: 1, from: ms(120), to: ms(150)}}, 48},
		"a fault of another":       {free, nil, []wait{waits(1, 50, 250)}, []fault{{proc: 2, from: ms(120), to: ms(150)}}, 98},
		"a fault of all":           {free, nil, []wait{waits(1, 50, 250)}, []fault{{proc: everyone, from: ms(90), to: ms(190)}}, 8},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			longest, _ := longestPause(freeOf(c.samples, c.spans), c.waits, c.faults)
			require.InDelta(t, float64(ms(c.want)), float64(longest), float64(ms(1)))
		})
	}
}

func TestWorkersThatGetNothingAreFound(t *testing.T) {
	t.Parallel()
	end := int64(onward) + 100
	begins := []event{{Kind: breaks, Outcome: "x", At: 10}, {Kind: heals, Outcome: "x", At: 50}, {Kind: asks, Proc: 1, At: 60, Hold: 1}, {Kind: begins, Proc: 2, At: 60}}
	both := []event{{Kind: trusts, Proc: 1, At: end, Hold: 1}, {Kind: ends, Proc: 2, At: end, Outcome: done}}
	for name, c := range map[string]struct {
		more        []event
		found, seen int
	}{
		"both complete":          {both, 0, 2},
		"one does":               {both[:1], 0, 0}, // see below: the other is found only if the time is long enough
		"one is refused":         {[]event{both[1], {Kind: refused, Proc: 1, At: end, Hold: 1}}, 1, 2},
		"one is not answered":    {[]event{both[0], {Kind: ends, Proc: 2, At: end, Outcome: not, Error: "context deadline exceeded"}}, 1, 2},
		"one is told: no":        {[]event{both[0], {Kind: ends, Proc: 2, At: end, Outcome: not, Error: "empty"}}, 0, 2},
		"before the last fault":  {[]event{{Kind: ends, Proc: 2, At: 40, Outcome: done}, both[0]}, 1, 2},
		"there is no time":       {[]event{{Kind: refused, Proc: 1, At: end - 200, Hold: 1}}, 0, 0},
		"one was killed":         {[]event{both[0], {Kind: breaks, Outcome: "killed process", Of: 2, At: 55}}, 0, 1},
		"both complete too late": {append([]event{{Kind: breaks, Outcome: "y", At: end - 5}, {Kind: heals, Outcome: "y", At: end - 1}}, both...), 0, 0},
	} {
		if name == "one does" {
			c.found, c.seen = 1, 2
		}
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, seen := starved(append(append([]event{}, begins...), c.more...))
			require.Len(t, found, c.found)
			require.Equal(t, c.seen, seen)
		})
	}
}

func TestWaitersThatAreToldLateAreFound(t *testing.T) {
	t.Parallel()
	limit := int64(toldWithin / time.Millisecond)
	out := []fault{{what: silent, proc: 1, from: ms(100), silent: ms(110), to: ms(100 + limit + 1000)}}
	refused := func(proc int, from, to int64) wait {
		return wait{proc: proc, from: ms(from), to: ms(to), refused: true}
	}
	late := int64(apart/time.Millisecond) + 1
	for name, c := range map[string]struct {
		waits       []wait
		found, seen int
	}{
		"together":                         {[]wait{refused(1, 10, 1000), refused(1, 20, 1100)}, 0, 2},
		"too late":                         {[]wait{refused(1, 10, 101+limit)}, 1, 1},
		"when it was over":                 {[]wait{{proc: 1, from: ms(10), to: ms(1101 + limit)}}, 1, 1},
		"apart":                            {[]wait{refused(1, 10, 1000), refused(1, 20, 1000+late)}, 1, 2},
		"of another process":               {[]wait{refused(2, 10, 1000+late), refused(1, 20, 1000)}, 0, 1},
		"one was acquired before":          {[]wait{{proc: 1, from: ms(10), to: ms(108)}, refused(1, 20, 1000)}, 0, 1},
		"one began later":                  {[]wait{refused(1, 200, 1000+limit), refused(1, 20, 1000)}, 0, 1},
		"refused by nobody":                {[]wait{{proc: 1, from: ms(10), to: ms(1000), refused: true, busy: true}}, 1, 1},
		"refused by nobody, and later":     {[]wait{{proc: 1, from: ms(200), to: ms(1000), refused: true, busy: true}}, 1, 0},
		"refused by the server before":     {[]wait{{proc: 1, from: ms(10), to: ms(90), refused: true, busy: true}}, 0, 0},
		"refused by the server after that": {[]wait{{proc: 1, from: ms(200), to: ms(1101 + limit), refused: true, busy: true}}, 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, seen := toldTogether(c.waits, out)
			require.Len(t, found, c.found)
			require.Equal(t, c.seen, seen)
		})
	}
	found, _ := toldTogether([]wait{refused(1, 10, 101+limit)}, []fault{{what: "cut", proc: 1, from: ms(100), silent: ms(110), to: ms(5000)}})
	require.Empty(t, found, "another fault")
}

func TestWhatABystanderSees(t *testing.T) {
	t.Parallel()
	long := mostBusy + 1
	for name, c := range map[string]struct {
		of       beside
		found    int
		unjudged bool
	}{
		"nothing":                        {beside{}, 0, false},
		"a server that computes":         {beside{busy: ping{long, long}}, 1, false},
		"a server that waits":            {beside{busy: ping{long, mostBusy}}, 0, false},
		"a busy machine":                 {beside{busy: ping{long, long}, idle: ping{longest: 2}}, 0, false},
		"a lost lock":                    {beside{lost: errors.New("lost")}, 1, false},
		"a lost lock on a busy machine":  {beside{lost: errors.New("lost"), still: aside}, 0, true},
		"a lost lock, and a late server": {beside{lost: errors.New("lost"), idle: ping{longest: aside}}, 0, true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, unjudged := c.of.findings()
			require.Len(t, found, c.found)
			require.Equal(t, c.unjudged, unjudged)
		})
	}
}

// TestABystanderSeesAServerThatIsBusy: one script keeps the server busy for a while.
func TestABystanderSeesAServerThatIsBusy(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t)
	b := newBystander(t, s, "7.0")
	raw := s.Client(t)
	stop := b.watches(t.Context(), redistest.Name(t), true)
	redistest.Do(t, raw, "EVAL", "for i = 1, tonumber(ARGV[1]) do end", "0", "100000000")
	seen := stop()
	require.Greater(t, seen.busy.computed, mostBusy)
	require.Greater(t, seen.busy.longest, mostBusy)
	found, _ := seen.findings()
	require.NotEmpty(t, found)
}

func TestNotificationsThatComeLateAreMeasured(t *testing.T) {
	t.Parallel()
	clients := map[int]string{1: "one"}
	samples := []sample{{10, 12, []string{"one:1"}}, {20, 22, nil}, {30, 32, []string{"two:1"}}, {40, 42, nil}}
	require.Zero(t, latestWord([]span{{proc: 1, from: 5, to: 15, lostAt: 16}}, samples, clients), "before the server")
	require.Zero(t, latestWord([]span{{proc: 1, from: 5, to: 15}}, samples, clients), "released")
	require.EqualValues(t, 28, latestWord([]span{{proc: 1, from: 5, to: 15, lostAt: 50}}, samples, clients), "it stood still")
}

func TestTheServerIsAskedForOwners(t *testing.T) {
	t.Parallel()
	redistest.OnStarted(t, func(t *testing.T, server *redistest.Server) {
		raw := server.Client(t)
		all, err := open(slog.DiscardHandler, alone(server.Addr()))
		require.NoError(t, err)
		c := all[0]
		defer c.Close(t.Context())
		for _, of := range []string{"lock", "fair", "read-write", "fenced", "permits", "group", "election"} {
			o, name := objects[indexOf(of)], redistest.Name(t)
			known := func(names []string, at time.Time) (owners []string) {
				all, err := o.owners().owners(name, raw.Do(t.Context(), o.owners().ask(raw.B(), name, at.UnixMilli())), at.UnixMilli())
				require.NoError(t, err, of)
				for _, n := range names {
					owners = append(owners, all[n]...)
				}
				return owners
			}
			if o.set != nil {
				require.NoError(t, o.set(t.Context(), c, name))
			}
			h, err := o.acquire(t.Context(), c, terms{rnd: rand.New(rand.NewPCG(1, 1)), names: []string{name}, lease: time.Minute})
			require.NoError(t, err, of)
			mine := span{proc: 1, id: h.id}
			require.True(t, slices.ContainsFunc(known(h.names, time.Now()), func(owner string) bool { return mine.owns(owner, map[int]string{1: c.ID()}) }), of)
			if !o.hashed { // the server drops a hash by itself
				require.Empty(t, known(h.names, time.Now().Add(2*time.Minute)), "%s: the lease is over", of)
			}
			require.NoError(t, h.free(t.Context()))
			require.Empty(t, known(h.names, time.Now()), of)
		}
	})
}
