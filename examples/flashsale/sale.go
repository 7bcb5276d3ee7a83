package main

import (
	"context"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"time"

	"github.com/schollz/progressbar/v3"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
)

const (
	watchdog = 30 * time.Second
	// killWatchdog is how long the lock of a killed process stands at most.
	killWatchdog = 2 * time.Second
	victim       = 0
)

// sale is one sale while it runs.
type sale struct {
	settings
	venue     *venue
	product   product
	shelf     supply // nil: the product's own number
	processes []*crew.Member
	events    chan event
	stop      chan struct{}
	bar       *progressbar.ProgressBar
	tally     tally
}

// hold holds a sale, from the empty shelf to the closed doors.
func hold(ctx context.Context, s settings, stderr io.Writer) (_ *result, err error) {
	v, err := openVenue(s.addr)
	if err != nil {
		return nil, err
	}
	defer v.close()
	// A name of its own: on a server of others nothing of theirs is touched.
	p := product{redis: v.redis, key: "flashsale:" + rand.Text()}
	if err := p.offer(ctx, s.stock); err != nil {
		return nil, fmt.Errorf("the server at %s: %w", v.name, err)
	}
	defer func() { err = errors.Join(err, p.remove(context.WithoutCancel(ctx))) }()
	shelf, empty, err := s.shelf(ctx, v, p)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, empty()) }()
	run := &sale{
		settings: s, venue: v, product: p, shelf: shelf,
		events: make(chan event), stop: make(chan struct{}),
		bar: newProgress(s.buyers, stderr), tally: newTally(s.procs),
	}
	defer run.end() // before the product is removed
	if err := run.open(ctx, crew.OneAtATime(stderr)); err != nil {
		return nil, err
	}
	return run.sell(ctx)
}

// shelf puts the pieces where the strategy has them, if that is elsewhere.
func (s *settings) shelf(ctx context.Context, v *venue, p product) (_ supply, empty func() error, err error) {
	if s.strategy.stock == nil {
		return nil, func() error { return nil }, nil
	}
	c, err := rueidisson.Open(v.url)
	if err != nil {
		return nil, nil, err
	}
	shelf := s.strategy.stock(c, p.key)
	empty = func() error {
		ctx := context.WithoutCancel(ctx)
		return errors.Join(shelf.remove(ctx), c.Close(ctx))
	}
	if err := shelf.offer(ctx, s.stock); err != nil {
		return nil, nil, errors.Join(err, empty())
	}
	return shelf, empty, nil
}

// open starts the processes and returns when all of them are ready.
func (s *sale) open(ctx context.Context, stderr io.Writer) error {
	for n := range s.procs {
		p, err := s.start(n, stderr)
		if err != nil {
			return err
		}
		s.processes = append(s.processes, p)
		if err := p.Tell(s.orderFor(n)); err != nil {
			return fmt.Errorf("process %d: %w", n, err)
		}
	}
	return s.await(ctx, func() bool { return s.tally.ready == s.procs })
}

// start starts a counter. What it says is an event, and so is its end.
func (s *sale) start(n int, stderr io.Writer) (*crew.Member, error) {
	tell := func(e event) {
		e.Process = n
		select {
		case s.events <- e:
		case <-s.stop:
		}
	}
	return crew.Start(asCounter, stderr, func(said *json.Decoder) {
		for {
			var e event
			if said.Decode(&e) != nil {
				return
			}
			tell(e)
		}
	}, func(state string) { tell(event{Kind: ended, Err: state}) })
}

func (s *sale) orderFor(n int) order {
	o := order{
		URL: s.venue.url, Product: s.product.key, Strategy: s.strategy.name,
		Process: n, Buyers: s.share(n), Think: s.think, Watchdog: watchdog,
	}
	if s.kill {
		o.Watchdog = killWatchdog
		if n == victim {
			o.FreezeAt = max(1, o.Buyers/3)
		}
	}
	return o
}

// sell opens the doors and returns when the last buyer has gone.
func (s *sale) sell(ctx context.Context) (*result, error) {
	before, err := s.venue.commands(ctx)
	if err != nil {
		return nil, err
	}
	s.tally.open()
	for n, p := range s.processes {
		if err := p.Tell(goWord); err != nil {
			return nil, fmt.Errorf("process %d: %w", n, err)
		}
	}
	if err := s.await(ctx, s.over); err != nil {
		return nil, err
	}
	_ = s.bar.Finish()
	after, err := s.venue.commands(ctx)
	if err != nil {
		return nil, err
	}
	b, err := s.product.books(ctx)
	if err == nil && s.shelf != nil {
		b.left, err = s.shelf.left(ctx)
	}
	if err != nil {
		return nil, err
	}
	return s.result(b, after-before), nil
}

// over is when every process has served its buyers, or is dead.
func (s *sale) over() bool { return s.tally.done+s.tally.dead == s.procs }

// await counts what the processes say until enough is true.
func (s *sale) await(ctx context.Context, enough func() bool) error {
	for !enough() {
		select {
		case e := <-s.events:
			if err := s.heard(e); err != nil {
				return err
			}
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	return nil
}

func (s *sale) heard(e event) error {
	switch e.Kind {
	case ready:
		s.tally.ready++
	case done:
		s.tally.done++
	case sold, refused:
		s.tally.served(e)
		_ = s.bar.Add(1) // a terminal that is gone stops no sale
	case holding:
		s.tally.killed = true
		return s.processes[e.Process].Kill()
	case ended:
		return s.lost(e)
	case failed:
		return fmt.Errorf("process %d: %s", e.Process, e.Err)
	}
	return nil
}

// lost is about a process that ended before its time, by our hand or not.
func (s *sale) lost(e event) error {
	if !s.tally.killed || e.Process != victim {
		return fmt.Errorf("process %d has ended: %s", e.Process, e.Err)
	}
	s.tally.dead++
	return nil
}

// end closes the doors and returns when all processes have gone.
func (s *sale) end() {
	close(s.stop)
	var all sync.WaitGroup
	for _, p := range s.processes {
		all.Go(p.End)
	}
	all.Wait()
}
