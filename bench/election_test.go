package bench

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/election"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

// electionLease is that of a leader who is killed.
const electionLease = time.Second

var electionRows = []row{
	{"election, successor after Resign", "ms", goal{atMost: 20}, electionResign},
	{"election, successor after kill -9, lease 1 s", "ms", goal{atMost: 1100}, electionKill},
	{"election, an observer hears of a value", "ms", goal{atMost: 100}, electionHears},
	{"election, an observer finds a value without a notification", "ms", goal{atMost: 5000}, electionFinds},
}

func newElection(t *testing.T, s *redistest.Server, name string) *election.Election {
	return openElection(t, s, name, rueidisson.WithWatchdogTimeout(electionLease))
}

func openElection(t *testing.T, s *redistest.Server, name string, opts ...rueidisson.Option) *election.Election {
	t.Helper()
	c, err := rueidisson.New(connection(s.Addr()), opts...)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close(context.Background()) })
	return c.Election(name)
}

// elected is a candidate's term, and since when.
type elected struct {
	term *election.Term
	at   time.Time
	err  error
}

// campaignLater returns when the candidate has had the time to queue.
func campaignLater(el *election.Election) <-chan elected {
	won := make(chan elected, 1)
	go func() { // ends when it is elected
		term, err := el.Campaign(context.Background(), "here")
		won <- elected{term, time.Now(), err}
	}()
	time.Sleep(5 * asleep)
	return won
}

// electionResign is two clients that succeed each other.
func electionResign(t *testing.T, s *redistest.Server) sides {
	clients := []*election.Election{newElection(t, s, "resign"), newElection(t, s, "resign")}
	term, err := clients[0].Campaign(t.Context(), "here")
	if err != nil {
		t.Fatal(err)
	}
	next := 1
	once := func() (time.Duration, error) {
		won := campaignLater(clients[next])
		began := time.Now()
		if err := term.Resign(context.Background()); err != nil {
			return 0, err
		}
		e := <-won
		term, next = e.term, 1-next
		return e.at.Sub(began), e.err
	}
	t.Cleanup(func() { _ = term.Resign(context.Background()) })
	return sides{ours: milliseconds(once)}
}

// milliseconds is the median of what fits.
func milliseconds(once func() (time.Duration, error)) measure {
	return func(d time.Duration) (float64, error) {
		var all []float64
		for began := time.Now(); len(all) == 0 || time.Since(began) < d; {
			took, err := once()
			if err != nil {
				return 0, err
			}
			all = append(all, took.Seconds()*1e3)
		}
		return median(all), nil
	}
}

// electionKill kills a leader as soon as it leads, so that all of its lease is
// left.
func electionKill(t *testing.T, s *redistest.Server) sides {
	el := newElection(t, s, "kill")
	once := func() (time.Duration, error) {
		leader := redistest.StartChild(t, "leader", "BENCH_ADDR="+s.Addr(), "BENCH_KEY=kill")
		leader.Await("leads")
		won := campaignLater(el)
		began := time.Now()
		leader.Kill()
		e := <-won
		if e.err != nil {
			return 0, e.err
		}
		return e.at.Sub(began), e.term.Resign(context.Background())
	}
	return sides{ours: milliseconds(once)}
}

// leader is a process that leads until it is killed.
func leader(p *redistest.Parent) {
	c, err := rueidisson.New(connection(env("BENCH_ADDR")), rueidisson.WithWatchdogTimeout(electionLease))
	if err != nil {
		p.Say("%v", err)
		return
	}
	if _, err := c.Election(env("BENCH_KEY")).Campaign(context.Background(), "there"); err != nil {
		p.Say("%v", err)
		return
	}
	p.Say("leads")
	p.Hear()
}

// electionObserver is a leader, whose lease is longer than an observer waits, and what an observer of another client is told.
func electionObserver(t *testing.T, s *redistest.Server, name string) (*election.Term, <-chan election.Leader) {
	term, err := openElection(t, s, name).Campaign(t.Context(), "first")
	if err != nil {
		t.Fatal(err)
	}
	told := make(chan election.Leader, 100)
	ctx, cancel := context.WithCancel(context.Background())
	t.Cleanup(func() { cancel(); _ = term.Resign(context.Background()) })
	go func() { // ends with ctx
		for leader := range openElection(t, s, name).Observe(ctx) {
			told <- leader
		}
	}()
	<-told
	return term, told
}

// electionHears is from the call of SetValue until the observer is told.
func electionHears(t *testing.T, s *redistest.Server) sides {
	term, told := electionObserver(t, s, "hears")
	n := 0
	return sides{ours: milliseconds(func() (time.Duration, error) {
		n++
		value := strconv.Itoa(n)
		began := time.Now()
		if err := term.SetValue(context.Background(), value); err != nil {
			return 0, err
		}
		for (<-told).Value != value {
		}
		return time.Since(began), nil
	})}
}

// electionFinds writes a value as a leader does whose message is lost, right
// after the observer has looked, so that nearly all of its pause is left.
func electionFinds(t *testing.T, s *redistest.Server) sides {
	term, told := electionObserver(t, s, "finds")
	c := s.Client(t)
	return sides{ours: once(func(time.Duration) (float64, error) {
		if err := term.SetValue(context.Background(), "heard"); err != nil {
			return 0, err
		}
		for (<-told).Value != "heard" {
		}
		began := time.Now()
		set := c.B().Hset().Key("rueidisson_term:{finds}").FieldValue().FieldValue("value", "unheard").FieldValue("version", "99").Build()
		if err := c.Do(context.Background(), set).Error(); err != nil {
			return 0, err
		}
		for (<-told).Value != "unheard" {
		}
		return time.Since(began).Seconds() * 1e3, nil
	})}
}
