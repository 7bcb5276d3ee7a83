package chaos

import (
	"context"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

// sizes is what a process had when it was started, and what it has.
type sizes struct{ goroutines, heap int64 }

const (
	// mostGoroutines and mostHeap bound by how much a process may have more than when it was started: its connections, and tables that
	// have grown.
	mostGoroutines = 60
	mostHeap       = 16 << 20
	// mostConnections is that of all clients of a process, with those that wait for queues.
	mostConnections = 40
	// leaving is how long clients may take to leave channels, and to complete what was interrupted.
	leaving = 10 * time.Second
	// remembered is how long a key may last that tells late requests apart.
	remembered = 45 * time.Second
)

// sized asks a process for its size.
func sized(u *redistest.Child) (s sizes) {
	u.Send(size)
	_, _ = fmt.Sscanf(u.Await(size), size+" %d %d", &s.goroutines, &s.heap)
	return s
}

// left checks what is left when all rounds are over: no subscriptions, no more goroutines, memory and connections than processes need,
// and no keys that last, except those that an object keeps.
func (a *arena) left(t testing.TB) {
	t.Helper()
	if a.at.name != onSingle {
		return // channels and keys are asked of one server
	}
	ctx, cancel := context.WithTimeout(context.Background(), redistest.Scaled(leaving))
	defer cancel()
	var found []string
	for { // clients leave channels, and complete what was interrupted, a little later
		found = append(a.grown(), a.channels(ctx)...)
		found = append(found, a.lasting(ctx)...)
		if len(found) == 0 || !sleep(ctx, 200*time.Millisecond) {
			break
		}
	}
	for _, f := range found[:min(len(found), 10*mostShown)] {
		t.Errorf("left after %d rounds: %s", a.rounds, f)
	}
	for _, f := range a.growth() {
		t.Errorf("after %d rounds there is more and more: %s", a.rounds, f)
	}
}

func (a *arena) grown() (found []string) {
	for i, u := range a.users {
		was, is := a.sizes[i], sized(u)
		if is.goroutines > was.goroutines+mostGoroutines {
			found = append(found, fmt.Sprintf("%d goroutines of process %d, which began with %d", is.goroutines, i+1, was.goroutines))
		}
		if is.heap > was.heap+mostHeap {
			found = append(found, fmt.Sprintf("a heap of %d bytes of process %d, which began with %d", is.heap, i+1, was.heap))
		}
		if n := len(a.proxies[i].Conns()); n > mostConnections {
			found = append(found, fmt.Sprintf("%d connections of process %d", n, i+1))
		}
	}
	return found
}

// channels returns those that somebody is subscribed to, of the names of rounds.
func (a *arena) channels(ctx context.Context) (found []string) {
	for _, which := range []string{"CHANNELS", "SHARDCHANNELS"} {
		all, err := a.raw.Do(ctx, a.raw.B().Arbitrary("PUBSUB", which, "*"+a.name+"*").Build()).AsStrSlice()
		if err != nil {
			all = []string{err.Error()}
		}
		for _, c := range all {
			if _, o := a.owner(c); !o.listens {
				found = append(found, "a subscription to "+c)
			}
		}
	}
	return found
}

// lasting returns the keys of names that last longer than late requests, and are no data.
func (a *arena) lasting(ctx context.Context) (found []string) {
	var all []string
	for cursor := uint64(0); ; {
		page, err := a.raw.Do(ctx, a.raw.B().Scan().Cursor(cursor).Match("*"+a.name+"*").Count(1000).Build()).AsScanEntry()
		if err != nil {
			return []string{err.Error()}
		}
		all = append(all, page.Elements...)
		if cursor = page.Cursor; cursor == 0 {
			break
		}
	}
	for _, key := range all {
		name, o := a.owner(key)
		if o.acquire == nil || slices.ContainsFunc(o.keeps, func(form string) bool { return key == strings.ReplaceAll(form, "NAME", name) }) {
			continue
		}
		left, err := a.raw.Do(ctx, a.raw.B().Pttl().Key(key).Build()).AsInt64()
		if d := time.Duration(left) * time.Millisecond; err != nil || left == -1 || d > remembered {
			found = append(found, fmt.Sprintf("key %s of %s, for %d ms (%v)", key, o.name, left, err))
		}
	}
	return found
}

// owner returns the name that a key contains, and its object.
func (a *arena) owner(key string) (string, object) {
	name := regexp.MustCompile(regexp.QuoteMeta(a.name) + `-\d+-\d`).FindString(key)
	return name, a.used[name]
}
