package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/google/uuid"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/board"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/sortedset"
)

const (
	// feeders is how many processes feed the board.
	feeders = 3
	// looks is how often the board asks the server, and lines how often it says a line where it cannot draw.
	looks, lines = 200 * time.Millisecond, time.Second
	// shownPlayers is how many of the leaderboard are shown.
	shownPlayers = 5
	// strangers is how many names that nobody has are looked for in the end.
	strangers = 5_000
)

// game is the board and its feeders.
type game struct {
	settings
	url, name, server string
	objects
	stderr  io.Writer
	running [feeders]*crew.Member
	events  chan event
	dying   [feeders]bool

	began         time.Time
	told, fresh   int // visits, and visitors that were new, as the feeders say
	kills         int
	top           []sortedset.Entry[string]
	count, approx int64 // visits and different visitors, as the server says
	verdict
}

// verdict is how the filter compares with the exact set.
type verdict struct {
	members, missed int64 // of the set, and those that the filter does not find
	others, found   int64 // names that are no member, and those that the filter finds
}

// play runs the whole of it.
func play(ctx context.Context, s settings, stdout, stderr io.Writer) (_ *game, err error) {
	g := &game{settings: s, name: "board-" + uuid.NewString()[:8], stderr: crew.OneAtATime(stderr), events: make(chan event, 1000)}
	server, err := crew.OpenServer(s.addr)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	g.url, g.server = server.URL, server.Title
	c, err := rueidisson.Open(g.url)
	if err != nil {
		return nil, err
	}
	defer c.Close(context.Background())
	g.objects = objectsOf(c, g.name)
	defer func() { err = errors.Join(err, g.remove(context.Background())) }()
	if _, err := g.seen.Init(ctx, visitors, s.p); err != nil {
		return nil, err
	}
	err = g.watch(ctx, stdout)
	crew.EndAll(g.events, g.running[:]...)
	if err == nil {
		err = g.look(ctx) // what they have added since
	}
	if err == nil {
		err = g.judge(ctx)
	}
	return g, err
}

// start starts a feeder, in the place of one that was killed perhaps.
func (g *game) start(i int) error {
	m, err := crew.Start(asFeeder, g.stderr, crew.Hear(g.events), func(state string) { g.events <- event{Kind: ended, Feeder: i, Err: state} })
	if err != nil {
		return err
	}
	g.running[i], g.dying[i] = m, false
	return m.Tell(task{URL: g.url, Name: g.name, Feeder: i})
}

// watch has the feeders feed, and shows the board.
func (g *game) watch(ctx context.Context, stdout io.Writer) error {
	g.began = time.Now()
	for i := range feeders {
		if err := g.start(i); err != nil {
			return err
		}
	}
	show := board.New(stdout, g.drawing)
	defer show.End()
	look, line, over := time.NewTicker(looks), time.NewTicker(lines), time.NewTimer(g.last)
	defer look.Stop()
	defer line.Stop()
	defer over.Stop()
	var kill <-chan time.Time
	if g.kill > 0 {
		ticker := time.NewTicker(g.kill)
		defer ticker.Stop()
		kill = ticker.C
	}
	for {
		select {
		case e := <-g.events:
			if err := g.hear(e); err != nil {
				return err
			}
		case <-kill:
			if err := g.strike(); err != nil {
				return err
			}
		case <-look.C:
			if err := g.look(ctx); err != nil {
				return err
			}
		case <-line.C:
			if !show.Shows() {
				fmt.Fprintln(stdout, strings.Join(g.drawing()[:1], ""))
			}
		case <-over.C:
			return g.look(ctx)
		case <-ctx.Done():
			return ctx.Err()
		}
		show.Draw()
	}
}

func (g *game) hear(e event) error {
	switch e.Kind {
	case fed:
		g.told += e.Visits
		g.fresh += e.Fresh
	case failed:
		return fmt.Errorf("feeder %d has failed: %s", e.Feeder, e.Err)
	case ended:
		if !g.dying[e.Feeder] {
			return fmt.Errorf("feeder %d has ended: %s", e.Feeder, e.Err)
		}
		return g.start(e.Feeder)
	}
	return nil
}

// strike kills the feeder whose turn it is.
func (g *game) strike() error {
	i := g.kills % feeders
	if g.dying[i] {
		return nil
	}
	g.kills++
	g.dying[i] = true
	return g.running[i].Kill()
}

// look asks the server what the board shows.
func (g *game) look(ctx context.Context) (err error) {
	if g.count, err = g.visits.Get(ctx); err != nil {
		return err
	}
	if g.approx, err = g.distinct.Count(ctx); err != nil {
		return err
	}
	g.top = g.top[:0]
	for e, err := range g.points.Range(ctx, 0, shownPlayers-1, sortedset.WithDescending()) {
		if err != nil {
			return err
		}
		g.top = append(g.top, e)
	}
	return nil
}

// drawing returns the lines of the board, the first of which says the most.
func (g *game) drawing() []string {
	all := []string{fmt.Sprintf("%3.0fs  %d visits by about %d visitors, %d of them new to the filter, %d feeders killed",
		time.Since(g.began).Seconds(), g.count, g.approx, g.fresh, g.kills)}
	for i := range shownPlayers {
		line := ""
		if i < len(g.top) {
			bar := strings.Repeat("█", int(math.Round(30*g.top[i].Score/g.top[0].Score)))
			line = fmt.Sprintf("%d  %-10s %-30s %.0f", i+1, g.top[i].Value, bar, g.top[i].Score)
		}
		all = append(all, line)
	}
	return all
}

// judge compares the filter with the exact set, by all who may have visited, and by strangers.
func (g *game) judge(ctx context.Context) error {
	names := make([]string, 0, visitors+strangers)
	for i := range visitors {
		names = append(names, visitor(i))
	}
	for i := range strangers {
		names = append(names, fmt.Sprintf("stranger-%d", i))
	}
	is, err := g.exact.HasEach(ctx, names...)
	if err != nil {
		return err
	}
	has, err := g.seen.HasEach(ctx, names...)
	if err != nil {
		return err
	}
	for i := range names {
		switch {
		case is[i]:
			g.members++
			g.missed += one(!has[i])
		default:
			g.others++
			g.found += one(has[i])
		}
	}
	return nil
}

func one(yes bool) int64 {
	if yes {
		return 1
	}
	return 0
}
