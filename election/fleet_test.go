package election_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/redis/rueidis"
	"github.com/stretchr/testify/require"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

var candidateChildren = redistest.Children{"candidate": candidate}

// candidate is a process that campaigns again and again. Of each term it says
// "term begin TOKEN TIME VALUE" when its context lives, and "term end TOKEN TIME"
// with the last time at which it did. It resigns when it hears the token.
func candidate(p *redistest.Parent) {
	c, err := rueidisson.New(
		rueidis.ClientOption{InitAddress: []string{os.Getenv("ELECTION_ADDR")}, DisableCache: true, ForceSingleClient: true},
		rueidisson.WithWatchdogTimeout(1500*time.Millisecond))
	if err != nil {
		p.Say("failed: %v", err)
		os.Exit(1)
	}
	resigns := make(chan string, 1000)
	go func() { // ends with the process
		for {
			token, ok := p.Hear()
			if !ok {
				os.Exit(0)
			}
			resigns <- token
		}
	}()
	el := c.Election(os.Getenv("ELECTION_NAME"))
	for n := 0; ; n++ {
		value := fmt.Sprintf("%s.%d", c.ID(), n)
		term, err := el.Campaign(context.Background(), value)
		if err != nil { // it is cut off
			p.Say("failed: %v", err)
			time.Sleep(20 * time.Millisecond)
			continue
		}
		lead(p, term, resigns)
	}
}

func lead(p *redistest.Parent, term *election.Term, resigns <-chan string) {
	work, token := term.Context(context.Background()), strconv.FormatInt(term.Fence().Number(), 10)
	var lived time.Time
	for asked := time.Now(); work.Err() == nil; asked = time.Now() {
		if lived.IsZero() {
			p.Say("term begin %s %d %s", token, asked.UnixNano(), term.Value())
		}
		lived = asked
		select {
		case of := <-resigns:
			if of == token {
				_ = term.Resign(context.Background()) // or it was lost, which the context says
			}
		case <-time.After(time.Millisecond):
		}
	}
	if !lived.IsZero() {
		p.Say("term end %s %d", token, lived.UnixNano())
	}
}

// reign is what is known of one term.
type reign struct {
	token, begin, end int64 // end 0: it lives, as far as is known
	value             string
	of                *candidacy
}

// candidacy is one of the processes, behind a proxy of its own.
type candidacy struct {
	*redistest.Child
	proxy *redistest.Proxy
}

// fleet is processes that campaign, and what they have said.
type fleet struct {
	t       *testing.T
	name    string
	members []*candidacy
	begun   chan *reign
	readers sync.WaitGroup

	mu     sync.Mutex
	reigns map[int64]*reign
}

func newFleet(t *testing.T, n int) (*fleet, *redistest.Server) {
	server := redistest.Start(t)
	f := &fleet{t: t, name: redistest.Name(t), begun: make(chan *reign, 10_000), reigns: map[int64]*reign{}}
	for range n {
		f.members = append(f.members, f.enter(redistest.NewProxy(t, server.Addr())))
	}
	return f, server
}

// enter starts a process.
func (f *fleet) enter(proxy *redistest.Proxy) *candidacy {
	c := &candidacy{redistest.StartChild(f.t, "candidate", "ELECTION_ADDR="+proxy.Addr(), "ELECTION_NAME="+f.name), proxy}
	f.readers.Go(func() { // ends with the process
		for {
			line, ok := c.AwaitFor("term ", time.Hour)
			if !ok {
				return
			}
			f.note(c, strings.Fields(line))
		}
	})
	return c
}

func (f *fleet) note(c *candidacy, words []string) {
	token, _ := strconv.ParseInt(words[2], 10, 64)
	at, _ := strconv.ParseInt(words[3], 10, 64)
	f.mu.Lock()
	defer f.mu.Unlock()
	if words[1] == "end" {
		f.reigns[token].end = at
		return
	}
	r := &reign{token: token, begin: at, value: words[4], of: c}
	f.reigns[token] = r
	f.begun <- r
}

// next is the next term of which its leader has told.
func (f *fleet) next() *reign {
	f.t.Helper()
	select {
	case r := <-f.begun:
		return r
	case <-time.After(soon):
		require.FailNow(f.t, "nobody was elected")
		return nil
	}
}

// kill puts another process in the place of the leader.
func (f *fleet) kill(r *reign) {
	r.of.Kill()
	f.mu.Lock()
	if r.end == 0 {
		r.end = time.Now().UnixNano()
	}
	f.mu.Unlock()
	i := slices.Index(f.members, r.of)
	f.members[i] = f.enter(r.of.proxy)
}

// sorted are all terms in the order of their tokens, once all but the last have
// ended.
func (f *fleet) sorted() (all []*reign) {
	f.t.Helper()
	ended := func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		all = all[:0]
		for _, r := range f.reigns {
			all = append(all, r)
		}
		slices.SortFunc(all, func(a, b *reign) int { return int(a.token - b.token) })
		return !slices.ContainsFunc(all[:len(all)-1], func(r *reign) bool { return r.end == 0 })
	}
	require.Eventually(f.t, ended, soon, 10*time.Millisecond)
	return all
}

// Whatever becomes of leaders, no two of them lead at once, and observers see
// each in its turn, or that they have missed some.
func TestLeadersThatResignDieStopOrAreCutOff(t *testing.T) {
	t.Parallel()
	terms := redistest.Count(t, 12, 100)
	f, server := newFleet(t, 4)
	watchers := []*watcher{
		observe(t, locktest.Open(t, server.Addr()).Election(f.name)), observe(t, locktest.Open(t, server.Addr()).Election(f.name)),
	}
	undo := func() {}
	for i := range terms {
		leader := f.next()
		undo()
		undo = func() {}
		switch i % 4 {
		case 0:
			leader.of.Send("%d", leader.token)
		case 1:
			f.kill(leader)
		case 2:
			leader.of.Stop()
			undo = leader.of.Cont
		case 3:
			leader.of.proxy.BlackHole()
			undo = leader.of.proxy.Restore
		}
	}
	last := f.next()
	undo()
	all := f.sorted()
	for i, r := range all[1:] {
		require.Greater(t, r.begin, all[i].end, "two led at once, by the tokens %d and %d", all[i].token, r.token)
	}
	for _, w := range watchers {
		w.requireAll(all, last.token)
	}
	for _, c := range f.members {
		c.Kill()
	}
	f.readers.Wait()
}

// requireAll expects to be told of each term up to the last one, or of a gap, and
// of none that was not one.
func (w *watcher) requireAll(all []*reign, last int64) {
	w.t.Helper()
	told := map[int64]election.Leader{}
	before := int64(0)
	for before < last {
		leader := w.next()
		if leader.None() {
			continue
		}
		number := leader.Fence.Number()
		require.Greater(w.t, number, before, "in the order of their terms, each once")
		before, told[number] = number, leader
	}
	missed, gaps := false, 0
	for _, r := range all {
		leader, seen := told[r.token]
		switch {
		case r.token > last:
			return
		case !seen:
			missed = true
			continue
		case missed:
			require.True(w.t, leader.Gap, "the term before %d was not told", r.token)
			gaps++
		}
		require.Equal(w.t, r.value, leader.Value)
		missed = false
	}
	w.t.Logf("%d terms, %d told, %d gaps", len(all), len(told), gaps)
}
