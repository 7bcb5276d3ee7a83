package chaos

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestOverlapsAreFound: each oracle is right about small records, right and wrong ones.
func TestOverlapsAreFound(t *testing.T) {
	t.Parallel()
	hold := func(proc int, from, to int64, shared bool) []event {
		return []event{
			{Kind: trusts, Name: "a", Proc: proc, Hold: from, At: from, Shared: shared},
			{Kind: trusts, Name: "a", Proc: proc, Hold: from, At: to, Shared: shared},
		}
	}
	for name, c := range map[string]struct {
		events []event
		limit  int
		found  int
	}{
		"one after the other":              {append(hold(1, 10, 20, false), hold(2, 21, 30, false)...), 1, 0},
		"at the same time":                 {append(hold(1, 10, 20, false), hold(2, 15, 30, false)...), 1, 1},
		"one within the other":             {append(hold(1, 10, 40, false), hold(2, 15, 30, false)...), 1, 1},
		"within the other, and a third":    {append(append(hold(1, 10, 40, false), hold(2, 15, 20, false)...), hold(3, 25, 30, false)...), 1, 2},
		"at the same moment":               {append(hold(1, 10, 20, false), hold(2, 20, 30, false)...), 1, 1},
		"two of two permits":               {append(hold(1, 10, 20, false), hold(2, 15, 30, false)...), 2, 0},
		"three of two permits":             {append(append(hold(1, 10, 20, false), hold(2, 15, 30, false)...), hold(3, 16, 17, false)...), 2, 1},
		"two of two permits, then a third": {append(append(hold(1, 10, 20, false), hold(2, 15, 30, false)...), hold(3, 21, 27, false)...), 2, 0},
		"two readers":                      {append(hold(1, 10, 20, true), hold(2, 15, 30, true)...), 1, 0},
		"a reader and a writer":            {append(hold(1, 10, 20, true), hold(2, 15, 30, false)...), 1, 1},
		"a writer and a reader":            {append(hold(1, 10, 20, false), hold(2, 15, 30, true)...), 1, 1},
		"another name":                     {append(hold(1, 10, 20, false), event{Kind: trusts, Name: "b", Proc: 2, At: 15}), 1, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found := 0
			for _, spans := range spansOf(c.events) {
				found += len(overlaps(spans, c.limit))
			}
			require.Equal(t, c.found, found)
		})
	}
}

func TestHoldsOnBothSidesAreFoundMoreThanALeaseAfterASplit(t *testing.T) {
	t.Parallel()
	const lease = int64(longest)
	events := []event{{Kind: splits, At: 10}, {Kind: joins, At: 10 + 3*lease}}
	for name, c := range map[string]struct {
		spans []span
		found int
	}{
		"within the lease":             {[]span{{proc: 1, from: 5, to: lease}, {proc: 2, from: 20, to: 3 * lease}}, 0},
		"on both sides after it":       {[]span{{proc: 1, from: 5, to: lease + 12}, {proc: 2, from: 20, to: 3 * lease}}, 1},
		"on one side after it":         {[]span{{proc: 1, from: 5, to: lease + 9}, {proc: 2, from: 20, to: 3 * lease}}, 0},
		"after the network has healed": {[]span{{proc: 1, from: 11 + 3*lease, to: 4 * lease}, {proc: 2, from: 12 + 3*lease, to: 4 * lease}}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			require.Len(t, overlaps(bothSides(c.spans, events), 1), c.found)
		})
	}
	require.Empty(t, bothSides([]span{{from: 5, to: 4 * lease}}, nil), "nothing was split")
}

// TestWhatIsNotPromisedIsCounted: a nemesis says what is judged.
func TestWhatIsNotPromisedIsCounted(t *testing.T) {
	t.Parallel()
	v := verdict{promises: stillPromised}
	v.finds(exclusion, "two", "three")
	v.finds(fencing, "a token")
	require.Equal(t, []string{"a token"}, v.violations)
	require.Equal(t, []string{"two", "three"}, v.counted)
	v = verdict{}
	v.finds(exclusion, "two")
	require.Equal(t, []string{"two"}, v.violations)
	for _, n := range nemeses {
		require.Equal(t, n.group == "forgetting", n.promises != nil, "%s: all is promised, except after a server has forgotten something", n.name)
	}
}

func TestTokensThatFallAreFound(t *testing.T) {
	t.Parallel()
	require.Empty(t, falling([]span{{token: 1}, {token: 2}, {token: 7}}))
	require.Len(t, falling([]span{{token: 1}, {token: 1}}), 1)
	require.Len(t, falling([]span{{token: 3}, {token: 1}, {token: 2}, {token: 4}}), 2)
}

func TestHoldsThatTheServerGaveAwayAreFound(t *testing.T) {
	t.Parallel()
	clients := map[int]string{1: "one", 2: "two"}
	samples := []sample{
		{10, 12, []string{"one:1"}}, {20, 22, []string{"one:1"}}, {30, 32, nil}, {40, 42, []string{"two:1"}}, {50, 52, []string{"mode", "two:1"}},
	}
	for name, c := range map[string]struct {
		of    span
		found int
		seen  int
	}{
		"ends before":                      {span{proc: 1, from: 9, to: 29}, 0, 2},
		"ends while the server is asked":   {span{proc: 1, from: 9, to: 31}, 0, 2},
		"nobody has it":                    {span{proc: 1, from: 9, to: 33}, 1, 3},
		"another has it":                   {span{proc: 1, from: 35, to: 43}, 1, 1},
		"the other":                        {span{proc: 2, from: 35, to: 60}, 0, 2},
		"begins while the server is asked": {span{proc: 2, from: 31, to: 60}, 0, 2},
		"between two looks":                {span{proc: 1, from: 33, to: 39}, 0, 0},
		"a permit":                         {span{proc: 1, id: "one:1", from: 9, to: 29}, 0, 2},
		"another permit of the process":    {span{proc: 1, id: "one:2", from: 9, to: 29}, 1, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, seen := untold([]span{c.of}, samples, clients)
			require.Len(t, found, c.found)
			require.Equal(t, c.seen, seen)
		})
	}
}

func TestPassingsAndLateRequestsAreCounted(t *testing.T) {
	t.Parallel()
	require.Equal(t, 0, passings([]span{{ended: released}, {ended: lost}}))
	require.Equal(t, 2, passings([]span{{ended: lost}, {ended: ""}, {ended: released}}))
	spans := map[string][]span{"a": {{from: 10, to: 20}}, "b x": {{from: 30, to: 40}}}
	require.Equal(t, 1, lateOnes([]event{{Kind: delivers, Name: "a", At: 15}, {Kind: delivers, Name: "a", At: 25}, {Kind: trusts, Name: "a", At: 16}}, spans))
	require.Zero(t, lateOnes([]event{{Kind: delivers, Name: "b", At: 15}}, spans), "of another name")
	require.Equal(t, 1, lateOnes([]event{{Kind: delivers, Name: "b", At: 35}}, spans), "of a value")
}

func TestALateRequestIsAboutTheNamesOfItsKeys(t *testing.T) {
	t.Parallel()
	for script, want := range map[string]bool{
		"EVALSHA sum 1 a-1-0":           true,
		"EVALSHA sum 2 other {a-1-0}:x": true,
		"EVAL body 1 a-1-1 a-1-0":       false, // an argument
		"EVALSHA sum 1 a-11-0":          false,
		"EVALSHA sum 5 a-1-0":           true, // fewer keys than it says
		"EVALSHA sum":                   false,
		"HDEL a-1-0 field":              false,
		"EVALSHA sum x a-1-0":           false,
		"EVALSHA sum 0":                 false,
	} {
		require.Equal(t, want, isAbout(strings.Fields(script), "a-1-0"), script)
	}
}

func TestWritesOutOfOrderAreFound(t *testing.T) {
	t.Parallel()
	op := func(worker int, from, to, token int64, outcome string) []event {
		return []event{
			{Kind: writing, Name: "a", Worker: worker, At: from, Token: token, Hold: from},
			{Kind: wrote, Name: "a", Worker: worker, At: to, Token: token, Hold: from, Outcome: outcome},
		}
	}
	for name, c := range map[string]struct {
		events  []event
		found   int
		chances int
	}{
		"in order":                            {slices.Concat(op(1, 1, 2, 5, ""), op(2, 3, 4, 6, "")), 0, 0},
		"the same twice":                      {slices.Concat(op(1, 1, 2, 5, ""), op(1, 3, 4, 5, "")), 0, 0},
		"an older one is refused":             {slices.Concat(op(1, 1, 2, 6, ""), op(2, 3, 4, 5, stale)), 0, 1},
		"an older one is accepted":            {slices.Concat(op(1, 1, 2, 6, ""), op(2, 3, 4, 5, "")), 1, 1},
		"at the same time":                    {slices.Concat(op(1, 1, 4, 6, ""), op(2, 2, 3, 5, "")), 0, 0},
		"a newer one is refused":              {slices.Concat(op(1, 1, 2, 5, ""), op(2, 3, 4, 6, stale)), 1, 0},
		"refused by one of unknown outcome":   {slices.Concat(op(1, 1, 2, 6, "lost"), op(2, 3, 4, 5, stale)), 0, 0},
		"one of unknown outcome is done late": {slices.Concat(op(1, 1, 2, 6, "lost"), op(2, 3, 4, 5, ""), op(2, 5, 6, 5, stale)), 0, 0},
		"without an answer":                   {slices.Concat(op(1, 1, 2, 6, "")[:1], op(2, 3, 4, 5, stale)), 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			found, _, chances := unordered(c.events)
			require.Len(t, found, c.found)
			require.Equal(t, c.chances, chances)
		})
	}
}

// TestARecordOfAKilledProcessIsRead: its last line may be cut short.
func TestARecordOfAKilledProcessIsRead(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "record")
	r, err := newRecorder(path, 3)
	require.NoError(t, err)
	r.put(event{Kind: asks, Name: "a", Worker: 2})
	r.put(event{Kind: refused, Name: "a", Worker: 2, Outcome: "no"})
	require.NoError(t, r.file.Close())
	events, cut, err := readRecord(path)
	require.NoError(t, err)
	require.Zero(t, cut)
	require.Len(t, events, 2)
	require.Equal(t, 3, events[0].Proc)
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(path, text[:len(text)-5], 0o600))
	events, cut, err = readRecord(path)
	require.NoError(t, err)
	require.Equal(t, 1, cut)
	require.Len(t, events, 1)
	require.NoError(t, os.WriteFile(path, append([]byte("no line\n"), text...), 0o600))
	_, _, err = readRecord(path)
	require.ErrorContains(t, err, "line 1")
}
