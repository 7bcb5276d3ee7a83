package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/board"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
)

// fleet is the shards, and what they have said.
type fleet struct {
	settings
	url, name string
	server    string
	stderr    io.Writer
	terminal  io.Writer // where the progress is drawn, if it is one
	shards    []*shard
	events    chan event
	began     time.Time
	told      time.Time // when the start was given
	killed    int       // the shard that was; -1: none
}

// shard is what the coordinator knows of one.
type shard struct {
	member   *crew.Member
	progress int // parts
	lives    int // how often it was started
	reported []time.Time
	left     int64 // what was left when it reported last
	started  time.Time
}

// start runs the whole of it.
func start(ctx context.Context, s settings, stderr io.Writer) (*fleet, error) {
	f := &fleet{
		settings: s, name: "fleet-" + uuid.NewString()[:8],
		stderr: crew.OneAtATime(stderr), terminal: stderr, events: make(chan event), killed: -1,
	}
	server, err := crew.OpenServer(s.addr)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	f.url, f.server = server.URL, server.Title
	c, err := rueidisson.Open(f.url)
	if err != nil {
		return nil, err
	}
	defer c.Close(context.Background())
	return f, f.coordinate(ctx, c)
}

// coordinate does the work of the coordinator of a fleet.
func (f *fleet) coordinate(ctx context.Context, c *rueidisson.Client) error {
	ready, begin := c.Latch(f.name+":ready"), c.Latch(f.name+":start")
	// Both are armed before a shard is started: else it might pass.
	if _, err := ready.TrySetCount(ctx, int64(f.settings.shards)); err != nil {
		return err
	}
	if _, err := begin.TrySetCount(ctx, 1); err != nil {
		return err
	}
	defer ready.Delete(context.Background())
	defer begin.Delete(context.Background())
	f.began = time.Now()
	defer f.end()
	for i := range f.settings.shards {
		f.shards = append(f.shards, &shard{})
		if err := f.launch(i); err != nil {
			return err
		}
	}
	waiting, cancel := context.WithCancel(ctx)
	defer cancel()
	all := make(chan error, 1)
	go func() { all <- ready.Await(waiting) }() // ends when the latch opens, or with waiting
	return f.watch(ctx, all, func() error { _, err := begin.CountDown(ctx); return err })
}

// launch starts a shard. Each loads longer than the one before it.
func (f *fleet) launch(i int) error {
	sh := f.shards[i]
	sh.lives++
	sh.progress = 0
	life := sh.lives
	m, err := crew.Start(asShard, f.stderr, crew.Hear(f.events), func(state string) { f.events <- event{Kind: ended, Shard: i, Left: int64(life), Err: state} })
	if err != nil {
		return err
	}
	sh.member = m
	load := f.load * time.Duration(i+1) / time.Duration(f.settings.shards)
	return m.Tell(order{URL: f.url, Fleet: f.name, Shard: i, Load: load, Plain: f.plain})
}

// watch hears the shards until all that are to have started have.
func (f *fleet) watch(ctx context.Context, ready <-chan error, begin func() error) error {
	show := board.New(f.terminal, f.drawing)
	defer show.End()
	for f.told.IsZero() || f.running() < f.settings.shards {
		select {
		case e := <-f.events:
			if err := f.hear(e); err != nil {
				return err
			}
			show.Draw()
		case err := <-ready:
			if err != nil {
				return err
			}
			f.told = time.Now()
			if err := begin(); err != nil {
				return err
			}
			ready = nil
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return nil
}

// hear notes what a shard has said.
func (f *fleet) hear(e event) error {
	sh := f.shards[e.Shard]
	switch e.Kind {
	case loaded:
		sh.progress++
	case reported:
		sh.reported, sh.left = append(sh.reported, e.At), e.Left
		if f.kill && f.killed < 0 {
			f.killed = e.Shard
			return sh.member.Kill() // its end starts it again
		}
	case started:
		sh.started = e.At
	case failed:
		return fmt.Errorf("shard %d: %s", e.Shard, e.Err)
	case ended:
		if e.Shard != f.killed || int(e.Left) != 1 || sh.lives != 1 {
			return fmt.Errorf("shard %d has ended: %s", e.Shard, e.Err)
		}
		return f.launch(e.Shard)
	}
	return nil
}

// running returns how many have started.
func (f *fleet) running() (n int) {
	for _, sh := range f.shards {
		if !sh.started.IsZero() {
			n++
		}
	}
	return n
}

// end ends the processes.
func (f *fleet) end() {
	var members []*crew.Member
	for _, sh := range f.shards {
		members = append(members, sh.member)
	}
	crew.EndAll(f.events, members...)
}

// report prints a table of the shards.
func (f *fleet) report(out io.Writer) {
	fmt.Fprintf(out, "%d shards, server: %s\n\n", len(f.shards), f.server)
	w := tabwriter.NewWriter(out, 0, 0, 3, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "shard\tlives\treported\tleft then\tstarted\t")
	for i, sh := range f.shards {
		fmt.Fprintf(w, "%d\t%d\t%s\t%d\t%s\t\n", i, sh.lives, f.since(sh.reported[len(sh.reported)-1]), sh.left, f.since(sh.started))
	}
	_ = w.Flush()
	first, last := f.spread()
	fmt.Fprintf(out, "\nThe start was given after %s, and %d shards were off within %.1f ms of each other.\n",
		f.since(f.told), len(f.shards), float64(last.Sub(first).Microseconds())/1e3)
}

func (f *fleet) since(t time.Time) string { return fmt.Sprintf("%.3f s", t.Sub(f.began).Seconds()) }

func (f *fleet) spread() (first, last time.Time) {
	for _, sh := range f.shards {
		if first.IsZero() || sh.started.Before(first) {
			first = sh.started
		}
		if sh.started.After(last) {
			last = sh.started
		}
	}
	return first, last
}

// problems returns what went wrong.
func (f *fleet) problems() (all []string) {
	for i, sh := range f.shards {
		if sh.reported[0].After(f.told) {
			all = append(all, fmt.Sprintf("the start was given without shard %d, which was ready %v later", i, sh.reported[0].Sub(f.told).Round(time.Millisecond)))
		}
		if sh.started.Before(f.told) {
			all = append(all, fmt.Sprintf("shard %d did not wait for the start", i))
		}
	}
	if f.kill && f.killed < 0 {
		all = append(all, "no shard was killed")
	}
	return all
}
