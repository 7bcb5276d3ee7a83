package semaphore

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"slices"
	"strconv"
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

var permitChildren = redistest.Children{"permit canceller": permitCanceller, "permit holder": permitHolder}

// What a child is told by its environment.
const (
	envAddr     = "PERMITS_ADDR"
	envName     = "PERMITS_NAME"
	envCalls    = "PERMITS_CALLS"
	envWatchdog = "PERMITS_WATCHDOG"
)

// permitsOfChild is the semaphore of a child.
func permitsOfChild() (s *PermitSemaphore, end func()) {
	client, err := rueidis.NewClient(rueidis.ClientOption{InitAddress: []string{os.Getenv(envAddr)}, DisableCache: true, ForceSingleClient: true})
	if err != nil {
		panic(err)
	}
	lease, err := time.ParseDuration(cmp.Or(os.Getenv(envWatchdog), "30s"))
	if err != nil {
		panic(err)
	}
	e, err := locking.New(context.Background(), client, core.Config{
		ClientID: owner.NewClient(), WatchdogTimeout: lease, Handovers: 256, HandoverTime: 10 * time.Millisecond, Linger: time.Second,
	})
	if err != nil {
		panic(err)
	}
	return NewPermits(e, os.Getenv(envName)), func() {
		if err := locking.Close(context.Background(), e); err != nil {
			panic(err)
		}
		client.Close()
	}
}

func permitChild(t *testing.T, kind string, r *permitRig, addr string, env ...string) *redistest.Child {
	t.Helper()
	return redistest.StartChild(t, kind, append(env, envAddr+"="+addr, envName+"="+r.of.key)...)
}

// span is a time in which a permit was certainly held: from the return of its
// acquire to the call of its release.
type span struct{ From, To int64 }

// permitCanceller acquires from many goroutines, and changes its mind in the middle
// of most calls. It says when it held what it got all the same.
func permitCanceller(p *redistest.Parent) {
	s, end := permitsOfChild()
	calls, _ := strconv.Atoi(os.Getenv(envCalls))
	const goroutines = 32
	var mu sync.Mutex
	var spans []span
	var all sync.WaitGroup
	p.Say("ready")
	p.Hear()
	for range goroutines {
		all.Go(func() {
			for range calls / goroutines {
				one, held, err := acquireAndMaybeCancel(s)
				if err != nil {
					p.Say("failed %v", err)
					return
				}
				if held {
					mu.Lock()
					spans = append(spans, one)
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	text, _ := json.Marshal(spans[max(0, len(spans)-10_000):]) // a line has bounds
	p.Say("spans %s", text)
	p.Hear() // what is given back in the background has to be so without Close
	end()
}

func acquireAndMaybeCancel(s *PermitSemaphore) (held span, got bool, err error) {
	ctx, cancel := context.WithTimeout(context.Background(), rand.N(4*time.Millisecond))
	defer cancel()
	var p *Permit
	if rand.IntN(4) == 0 {
		p, err = s.TryAcquire(ctx, WithWait(rand.N(2*time.Millisecond)))
	} else {
		p, err = s.Acquire(ctx)
	}
	switch {
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, ErrNotAcquired):
		return held, false, nil
	case err != nil:
		return held, false, err
	}
	held.From = time.Now().UnixNano()
	if rand.IntN(8) == 0 {
		time.Sleep(rand.N(time.Millisecond)) // somebody works with it
	}
	held.To = time.Now().UnixNano()
	return held, true, p.Release(ctx)
}

// mostAtOnce is how many of the spans overlap at most.
func mostAtOnce(spans []span) (most int) {
	type edge struct {
		at int64
		by int
	}
	var edges []edge
	for _, s := range spans {
		edges = append(edges, edge{s.From, 1}, edge{s.To, -1})
	}
	slices.SortFunc(edges, func(a, b edge) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.by, b.by)) })
	now := 0
	for _, e := range edges {
		now += e.by
		most = max(most, now)
	}
	return most
}

func TestTheSweepSeesOneTooMany(t *testing.T) {
	t.Parallel()
	require.Equal(t, 2, mostAtOnce([]span{{1, 5}, {2, 6}, {6, 9}, {5, 7}}))
	require.Equal(t, 3, mostAtOnce([]span{{1, 5}, {2, 6}, {4, 9}}))
}

// TestCancelledAcquiresLeaveNoPermit over four processes; and there is no moment
// with more permits certainly held than there are.
func TestCancelledAcquiresLeaveNoPermit(t *testing.T) {
	t.Parallel()
	const processes, total = 4, 3
	calls := redistest.Count(t, 2_000, 50_000) / processes
	server := redistest.Shared(t)
	r := permitRigOn(t, server.Client(t), redistest.Name(t)).set(total)
	var fleet []*redistest.Child
	for range processes {
		child := permitChild(t, "permit canceller", r, server.Addr(), envCalls+"="+strconv.Itoa(calls))
		child.Await("ready")
		fleet = append(fleet, child)
	}
	for _, child := range fleet {
		child.Send("go")
	}
	var all []span
	for _, child := range fleet {
		var spans []span
		said, _ := child.AwaitFor("", 5*time.Minute)
		require.Contains(t, said, "spans ")
		require.NoError(t, json.Unmarshal([]byte(said[len("spans "):]), &spans))
		all = append(all, spans...)
	}
	r.awaitStands(total, 0) // without waiting for a lease
	require.Empty(t, r.list())
	require.LessOrEqual(t, mostAtOnce(all), total)
	require.NotEmpty(t, all)
	for _, child := range fleet {
		child.Send("end")
		require.Zero(t, child.Wait())
	}
}

// permitHolder holds a permit until it is lost, and says when it began to ask for
// the last time that it was not.
func permitHolder(p *redistest.Parent) {
	s, end := permitsOfChild()
	permit, err := s.Acquire(context.Background())
	if err != nil {
		p.Say("failed %v", err)
		return
	}
	work := permit.Context(context.Background())
	p.Say("holds %s", permit.ID())
	stood := time.Now()
	for {
		asked := time.Now()
		if permit.Err() != nil || work.Err() != nil {
			break
		}
		stood = asked
	}
	<-permit.Lost()
	p.Say("lost %d", stood.UnixNano())
	p.Say("released %v", errors.Is(permit.Release(context.Background()), ErrLost))
	p.Hear()
	end()
}

// TestAPausedProcessDoesNotTrustItsPermit: the next has it only after the holder
// has trusted it for the last time, although that has not been able to do anything.
func TestAPausedProcessDoesNotTrustItsPermit(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	r := permitRigOn(t, server.Client(t), redistest.Name(t)).set(1)
	child := permitChild(t, "permit holder", r, server.Addr(), envWatchdog+"=2s")
	child.Await("holds")
	done := r.acquiring(t.Context())
	r.waiting(1)
	child.Stop()
	p := gotPermit(t, done)
	got := time.Now()
	child.Cont()
	var last int64
	_, err := fmt.Sscanf(child.Await("lost"), "lost %d", &last)
	require.NoError(t, err)
	require.Less(t, last, got.UnixNano())
	require.Equal(t, "released true", child.Await("released"))
	require.NoError(t, p.Err())
	r.stands(0, 1)
	child.Send("end")
	require.Zero(t, child.Wait())
}

// TestThePermitOfAProcessThatDiedComesBackAfterItsLease and is another's then.
func TestThePermitOfAProcessThatDiedComesBackAfterItsLease(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	r := permitRigOn(t, server.Client(t), redistest.Name(t)).set(1)
	child := permitChild(t, "permit holder", r, server.Addr(), envWatchdog+"=2s")
	child.Await("holds")
	done := r.acquiring(t.Context())
	r.waiting(1)
	child.Kill()
	gotPermit(t, done)
	r.stands(0, 1)
}
