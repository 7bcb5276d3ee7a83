package counter

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson/internal/core"
	"github.com/rueidisson/rueidisson/internal/locking"
	"github.com/rueidisson/rueidisson/internal/owner"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// fleet are the processes of the tests.
var fleet = redistest.Children{"adder": addingProcess, "numberer": numberingProcess}

// engineOfChild returns an engine of a process, and what closes it.
func engineOfChild(wrap func(rueidis.Client) rueidis.Client) (*locking.Engine, func()) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv("ADDR")}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		panic(err)
	}
	e, err := locking.New(context.Background(), wrap(client), core.Config{ClientID: owner.NewClient(), WatchdogTimeout: 30 * time.Second})
	if err != nil {
		panic(err)
	}
	return e, func() {
		if err := locking.Close(context.Background(), e); err != nil {
			panic(err)
		}
		client.Close()
	}
}

// addingProcess adds 1 a number of times under faults, and says what it was answered.
func addingProcess(p *redistest.Parent) {
	through := &faulty{twice: true}
	e, end := engineOfChild(func(c rueidis.Client) rueidis.Client { through.Client = c; return through })
	adds, err := strconv.Atoi(os.Getenv("ADDS"))
	if err != nil {
		panic(err)
	}
	c := New(e, os.Getenv("NAME"), WithRequestIDs())
	through.on.Store(true)
	const goroutines = 16
	var mu sync.Mutex
	var answers []string
	unknown := 0
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for i := g; i < adds; i += goroutines {
				n, err := c.Add(context.Background(), 1)
				mu.Lock()
				switch {
				case err == nil:
					answers = append(answers, decimal(n))
				case errors.Is(err, ErrOutcomeUnknown):
					unknown++
				default:
					panic(err)
				}
				mu.Unlock()
				if i%64 == 0 {
					through.deliver()
				}
			}
		})
	}
	all.Wait()
	for e.CleaningUp() {
		time.Sleep(time.Millisecond)
		through.deliver()
	}
	through.on.Store(false)
	through.deliver()
	for len(answers) > 0 {
		n := min(len(answers), 1000)
		p.Say("answers %s", strings.Join(answers[:n], " "))
		answers = answers[n:]
	}
	p.Say("done %d %d", unknown, through.lost.Load())
	end()
}

// TestAddsOfAFleetAreExact: 4 processes, whose sends are lost, late and doubled, around 2^53 and -2^53.
func TestAddsOfAFleetAreExact(t *testing.T) {
	t.Parallel()
	for _, middle := range []int64{1 << 53, -1 << 53} {
		t.Run(decimal(middle), func(t *testing.T) {
			t.Parallel()
			const processes = 4
			adds := redistest.Count(t, 1_000, 25_000)
			server := redistest.Shared(t)
			raw := server.Client(t)
			name, start := named(t, raw), middle-int64(processes*adds/2)
			setText(t, raw, name, decimal(start))
			var all []*redistest.Child
			for range processes {
				all = append(all, redistest.StartChild(t, "adder", "ADDR="+server.Addr(), "NAME="+name, fmt.Sprint("ADDS=", adds)))
			}
			seen, unknown, lost := map[string]bool{}, 0, 0
			for _, child := range all {
				for {
					line := child.Next()
					words := strings.Fields(line)
					if words[0] == "done" {
						u, _ := strconv.Atoi(words[1])
						l, _ := strconv.Atoi(words[2])
						unknown, lost = unknown+u, lost+l
						break
					}
					for _, answer := range words[1:] {
						require.False(t, seen[answer], "%s came twice", answer)
						seen[answer] = true
						n, err := strconv.ParseInt(answer, 10, 64)
						require.NoError(t, err)
						require.True(t, n > start && n <= start+int64(processes*adds), answer)
					}
				}
				require.Zero(t, child.Wait())
			}
			require.Equal(t, decimal(start+int64(processes*adds)), textOf(t, raw, name))
			require.Equal(t, processes*adds, len(seen)+unknown)
			require.Positive(t, lost)
			t.Logf("%d adds, %d sends with faults, %d unknown", processes*adds, lost, unknown)
		})
	}
}

// numberingProcess takes ids, and says which.
func numberingProcess(p *redistest.Parent) {
	e, end := engineOfChild(func(c rueidis.Client) rueidis.Client { return c })
	ids, err := strconv.Atoi(os.Getenv("IDS"))
	if err != nil {
		panic(err)
	}
	g := NewIDs(e, os.Getenv("NAME"))
	p.Say("ready")
	p.Hear()
	var texts []string
	for range ids {
		id, err := g.Next(context.Background())
		if err != nil {
			panic(err)
		}
		texts = append(texts, decimal(id))
		if len(texts) == 1000 {
			p.Say("ids %s", strings.Join(texts, " "))
			texts = texts[:0]
		}
	}
	p.Say("ids %s", strings.Join(texts, " "))
	p.Say("done")
	end()
}

// TestIDsOfAFleetAreNeverTheSame.
func TestIDsOfAFleetAreNeverTheSame(t *testing.T) {
	t.Parallel()
	const processes = 4
	ids := redistest.Count(t, 5_000, 250_000)
	server := redistest.Shared(t)
	raw := server.Client(t)
	name := named(t, raw)
	is(t, true)(NewIDs(engineOn(t, raw), name).Init(t.Context(), 1<<53-100, 7))
	var all []*redistest.Child
	for range processes {
		child := redistest.StartChild(t, "numberer", "ADDR="+server.Addr(), "NAME="+name, fmt.Sprint("IDS=", ids))
		require.Equal(t, "ready", child.Next())
		all = append(all, child)
	}
	for _, child := range all {
		child.Send("go")
	}
	seen := make(map[string]bool, processes*ids)
	for _, child := range all {
		for line := child.Next(); line != "done"; line = child.Next() {
			for _, id := range strings.Fields(line)[1:] {
				require.False(t, seen[id], "%s came twice", id)
				seen[id] = true
			}
		}
		require.Zero(t, child.Wait())
	}
	require.Len(t, seen, processes*ids)
}
