package chaos

import (
	"context"
	"encoding/json"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"github.com/stretchr/testify/require"
)

// failure is a violation, and what is needed to look at it again.
type failure struct {
	object, nemesis, topology string
	length                    time.Duration
	seed                      uint64
	found                     string
	events                    []event // of the round
}

func (f failure) String() string {
	return fmt.Sprintf("%s under %s on %s, seed %d: %s\n\tthe record:\n\t\t%s\n\trepeat with: %s",
		f.object, f.nemesis, f.topology, f.seed, f.found, strings.Join(contradicting(f.events, f.found), "\n\t\t"), f.command())
}

// command returns what repeats the round: its names, choices and faults, and not its timing.
func (f failure) command() string {
	return fmt.Sprintf("go test ./chaos -count=1 -run '^TestNobodyHoldsWhatAnotherHolds$' -args -only %s,%s,%s -for %v -round %d",
		f.object, f.nemesis, f.topology, f.length, f.seed)
}

// mostLines is how many lines of a record are shown.
const mostLines = 24

var (
	aHold  = regexp.MustCompile(`process (\d+), worker (\d+), hold (\d+)`)
	aValue = regexp.MustCompile(`(?:element|message) ([0-9a-f]+)`)
)

// contradicting returns the lines of a record that a finding tells of: of its holds, and of its elements. Of the moments at which a
// hold was trusted it returns the first and the last. A finding that names neither has the last lines of its name.
func contradicting(events []event, found string) (lines []string) {
	type hold struct {
		proc, worker int
		hold         int64
	}
	holds, values := map[hold]bool{}, map[int64]bool{}
	for _, m := range aHold.FindAllStringSubmatch(found, -1) {
		var n [3]int64
		for i := range n {
			n[i], _ = strconv.ParseInt(m[i+1], 10, 64) // digits, see aHold
		}
		holds[hold{int(n[0]), int(n[1]), n[2]}] = true
	}
	for _, m := range aValue.FindAllStringSubmatch(found, -1) {
		if v, err := strconv.ParseInt(m[1], 16, 64); err == nil {
			values[v] = true
		}
	}
	named := len(holds)+len(values) > 0
	last := map[hold]string{} // a moment of trust that no other one has followed yet
	trusted := map[hold]bool{}
	for _, e := range events {
		h := hold{e.Proc, e.Worker, e.Hold}
		switch {
		case named && !holds[h] && !values[e.Value], !named && (e.Name == "" || !strings.HasPrefix(found, e.Name+": ")):
			continue
		}
		line, err := json.Marshal(e)
		if err != nil {
			line = []byte(err.Error())
		}
		if e.Kind == trusts && trusted[h] {
			last[h] = string(line)
			continue
		}
		trusted[h] = e.Kind == trusts
		if was, is := last[h]; is {
			lines = append(lines, was)
			delete(last, h)
		}
		lines = append(lines, string(line))
	}
	for _, line := range last {
		lines = append(lines, line)
	}
	if over := len(lines) - mostLines; over > 0 {
		if named {
			return append(lines[:mostLines:mostLines], fmt.Sprintf("and %d more lines", over))
		}
		lines = lines[over:]
	}
	return lines
}

func TestAFailureShowsItsRecord(t *testing.T) {
	t.Parallel()
	events := []event{
		{At: 1, Proc: 1, Worker: 2, Hold: 3, Kind: asks},
		{At: 2, Proc: 1, Worker: 2, Hold: 3, Kind: trusts, Name: "a"},
		{At: 3, Proc: 1, Worker: 2, Hold: 3, Kind: trusts, Name: "a"},
		{At: 4, Proc: 1, Worker: 2, Hold: 3, Kind: trusts, Name: "a"},
		{At: 5, Proc: 1, Worker: 2, Hold: 3, Kind: lost, Name: "a"},
		{At: 6, Proc: 4, Worker: 2, Hold: 3, Kind: trusts, Name: "b"},
		{At: 7, Proc: 4, Worker: 5, Hold: 6, Kind: trusts, Name: "a"},
		{At: 8, Proc: 4, Worker: 5, Hold: 6, Kind: trusts, Name: "a"},
		{At: 9, Proc: 2, Worker: 1, Hold: 1, Kind: ends, Name: "a", Value: 0x1f},
	}
	at := func(found string) (times string) {
		for _, line := range contradicting(events, found) {
			var e event
			require.NoError(t, json.Unmarshal([]byte(line), &e), line)
			times += strconv.FormatInt(e.At, 10)
		}
		return times
	}
	require.Equal(t, "1245", at("a: two: process 1, worker 2, hold 3, and more"))
	require.Equal(t, "78", at("process 4, worker 5, hold 6"))
	require.Equal(t, "124578", at("process 1, worker 2, hold 3 with process 4, worker 5, hold 6"))
	require.Equal(t, "9", at("a: element 1f was taken 2 times"))
	require.Equal(t, "2457"+"98", at("a: after the faults: 2 permits are free"), "all of the name; the last moment of trust comes when the hold has ended")
	require.Empty(t, at("nothing was done"))

	for range mostLines {
		events = append(events, event{Proc: 4, Worker: 5, Hold: 6, Kind: lost, Name: "a"})
	}
	require.Len(t, contradicting(events, "process 4, worker 5, hold 6"), mostLines+1)
	require.Len(t, contradicting(events, "a: nothing"), mostLines)

	text := failure{"lock", "cut", "8.0", long, 77, "a: two: process 4, worker 5, hold 6", events}.String()
	require.Contains(t, text, "lock under cut on 8.0, seed 77: a: two")
	require.Contains(t, text, `"at":7,"proc":4`)
	require.Contains(t, text, "-args -only lock,cut,8.0 -for 3s -round 77")
}

// TestAProcessThatEndsFailsTheRound: another process takes its place.
func TestAProcessThatEndsFailsTheRound(t *testing.T) {
	t.Parallel()
	a := newArena(t, "8.0")
	ends := nemesis{name: "ends", breaks: func(ctx context.Context, f *field) {
		f.users[1].Kill()
		<-ctx.Done()
	}}
	v := a.round(objects[0], ends, short, 1)
	require.Len(t, v.violations, 1)
	require.Contains(t, v.violations[0], "process 2 ended")
	require.Empty(t, a.round(objects[0], named("none"), short, 2).violations)
}

// TestARoundWithoutOperationsIsAViolation, unless the machine stood still.
func TestARoundWithoutOperationsIsAViolation(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		of       verdict
		found    int
		unjudged int
	}{
		"nothing":                    {verdict{calls: 7}, 1, 0},
		"a hold":                     {verdict{holds: 1}, 0, 0},
		"an operation":               {verdict{done: 1}, 0, 0},
		"a machine that stood still": {verdict{still: 300 * time.Millisecond}, 0, 1},
		"a machine that nearly did":  {verdict{still: 200 * time.Millisecond}, 1, 0},
	} {
		c.of.idle(time.Second)
		require.Len(t, c.of.violations, c.found, name)
		require.Equal(t, c.unjudged, c.of.unjudged, name)
	}
}

// TestAHistoryThatIsNotCheckedIsAViolation: "unknown" is no answer.
func TestAHistoryThatIsNotCheckedIsAViolation(t *testing.T) {
	t.Parallel()
	require.Empty(t, ordered("a", porcupine.Ok, nil))
	require.Len(t, ordered("a", porcupine.Illegal, nil), 1)
	require.Len(t, ordered("a", porcupine.Unknown, nil), 1)
}
