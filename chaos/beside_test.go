package chaos

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// aside is the lease of the bystander's lock.
const aside = time.Second

// bystander has nothing to do with the load. It asks the server for PINGs, and an idle server at the same time, and holds a lock.
type bystander struct {
	client     *rueidisson.Client
	busy, idle *redistest.Server
}

func newBystander(t testing.TB, busy *redistest.Server, version string) *bystander {
	t.Helper()
	b := &bystander{busy: busy, idle: redistest.Start(t, redistest.Version(version))}
	client, err := redistest.Patient(func() (*rueidisson.Client, error) {
		return rueidisson.New(rueidis.ClientOption{InitAddress: []string{busy.Addr()}, DisableCache: true, ForceSingleClient: true}, rueidisson.WithWatchdogTimeout(aside))
	})
	require.NoError(t, err)
	b.client = client
	t.Cleanup(func() {
		ctx, cancel := context.WithTimeout(context.Background(), redistest.Soon)
		defer cancel()
		_ = client.Close(ctx)
	})
	return b
}

// beside is what a bystander has seen in a round.
type beside struct {
	busy, idle ping
	lost       error         // why the lock was lost
	still      time.Duration // for how long this process stood still
}

// ping has the longest time of a PING, and the longest time for which the server computed while one waited.
type ping struct{ longest, computed time.Duration }

// watches has a bystander watch a round until the returned function is called. It holds a lock if nothing disturbs the server.
func (b *bystander) watches(ctx context.Context, name string, undisturbed bool) (stop func() beside) {
	var seen beside
	metronome := redistest.Metronome()
	round, end := context.WithCancel(ctx)
	var all sync.WaitGroup
	all.Go(func() { seen.busy = pings(round, b.busy) })
	all.Go(func() { seen.idle = pings(round, b.idle) })
	if undisturbed {
		all.Go(func() { seen.lost = b.holds(round, name) })
	}
	return func() beside {
		end()
		all.Wait()
		seen.still = metronome()
		return seen
	}
}

// holds holds a lock until the round is over. It returns why the lock was lost, or not acquired.
func (b *bystander) holds(round context.Context, name string) error {
	h, err := b.client.Lock(name).Lock(round)
	if err != nil {
		if round.Err() != nil { // a short round
			return nil
		}
		return err
	}
	for ; err == nil && sleep(round, time.Millisecond); err = h.Err() {
	}
	ctx, cancel := context.WithTimeout(context.Background(), redistest.Soon)
	defer cancel()
	return errors.Join(err, h.Unlock(ctx))
}

// lastPing bounds a PING that is under way when a round is over.
const lastPing = 5 * time.Second

// late is the time from which on it is asked what a server did meanwhile.
const late = 10 * time.Millisecond

// pings asks a server for one PING after the other.
func pings(round context.Context, s *redistest.Server) (p ping) {
	for sleep(round, time.Millisecond) {
		p.connected(round, s)
	}
	return p
}

// connected asks by one connection.
func (p *ping) connected(round context.Context, s *redistest.Server) {
	conn, err := (&net.Dialer{}).DialContext(round, "tcp", s.Addr())
	if err != nil {
		return
	}
	defer conn.Close()
	defer context.AfterFunc(round, func() { _ = conn.SetReadDeadline(time.Now().Add(lastPing)) })()
	for in := bufio.NewReader(conn); sleep(round, time.Millisecond); {
		worked := s.Worked()
		began := time.Now()
		if _, err := conn.Write([]byte("PING\r\n")); err != nil {
			return
		}
		if _, err := in.ReadString('\n'); err != nil {
			return
		}
		took := time.Since(began)
		if p.longest = max(p.longest, took); took > late {
			p.computed = max(p.computed, s.Worked()-worked)
		}
	}
}

// mostBusy bounds the time for which the server may compute without an answer to others.
var mostBusy = redistest.Scaled(50 * time.Millisecond)

// findings judges what a bystander has seen of a server that nothing disturbs. What this machine delays is not judged: a PING of the
// idle server is late, too, or the server did not compute meanwhile, or this process stood still.
func (b beside) findings() (found []string, unjudged bool) {
	if b.busy.longest-b.idle.longest > mostBusy && b.busy.computed > mostBusy {
		found = append(found, fmt.Sprintf("a PING took %v, and the server computed for %v meanwhile; one of an idle server took %v at most",
			b.busy.longest, b.busy.computed, b.idle.longest))
	}
	switch {
	case b.lost == nil:
	case b.still > aside/8, b.idle.longest > aside/8:
		unjudged = true
	default:
		found = append(found, fmt.Sprintf("the lock of a bystander, which is renewed, is lost: %v", b.lost))
	}
	return found, unjudged
}
