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
	"github.com/rueidisson/rueidisson/queue/reliable"
)

// line is the places, and what is known of them.
type line struct {
	settings
	url, name, server string
	stderr            io.Writer
	terminal          io.Writer // where it is drawn, if it is one
	post              *post
	queues            []*reliable.Queue[order]
	stations          []*station
	events            chan event
	took              time.Duration
	late              bool    // orders are left over
	dead              []order // what was buried, wherever that was
}

// station is what is known of a place.
type station struct {
	member *crew.Member
	ready  bool
	killed bool // the process that runs, or did last
	kills  int
	stats  reliable.Stats
}

func start(ctx context.Context, s settings, stderr io.Writer) (*line, error) {
	l := &line{
		settings: s, name: "jobs-" + uuid.NewString()[:8],
		stderr: crew.OneAtATime(stderr), terminal: stderr, events: make(chan event, 100),
	}
	server, err := crew.OpenServer(s.addr)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	l.url, l.server = server.URL, server.Title
	c, err := rueidisson.Open(l.url)
	if err != nil {
		return nil, err
	}
	defer c.Close(context.Background())
	if l.post, err = openPost(s.orders, s.plain); err != nil {
		return nil, err
	}
	defer l.post.close()
	for place := range places {
		q := queue(c, l.name, place)
		l.queues = append(l.queues, q)
		l.stations = append(l.stations, &station{})
		defer q.Delete(context.Background())
	}
	defer l.end()
	for place := range places {
		if err := l.launch(place); err != nil {
			return nil, err
		}
	}
	began := time.Now()
	err = l.watch(ctx)
	l.took = time.Since(began)
	return l, err
}

func (l *line) launch(place int) error {
	m, err := crew.Start(asPlace, l.stderr, crew.Hear(l.events), func(state string) { l.events <- event{Kind: ended, Place: place, Err: state} })
	if err != nil {
		return err
	}
	st := l.stations[place]
	st.member, st.ready, st.killed = m, false, false
	return m.Tell(errand{URL: l.url, Post: l.post.url, Name: l.name, Place: place})
}

const (
	// often is how often the queues are looked at.
	often = 100 * time.Millisecond
	// patience is how long the last orders may take.
	patience = time.Minute
)

// watch takes orders, and kills, until all were mailed that should be.
func (l *line) watch(ctx context.Context) error {
	show := board.New(l.terminal, l.drawing)
	defer show.End()
	taking, stop := context.WithCancel(ctx)
	defer stop()
	taken := make(chan error, 1)
	go func() { taken <- l.take(taking) }() // ends with the last order, or with taking
	look := time.NewTicker(often)
	defer look.Stop()
	kill := every(l.kill)
	defer kill.Stop()
	var until time.Time // zero: orders come in
	for {
		select {
		case e := <-l.events:
			if err := l.hear(e); err != nil {
				return err
			}
		case err := <-taken:
			if err != nil {
				return err
			}
			until = time.Now().Add(patience)
		case <-kill.C:
			l.killOne()
		case <-look.C:
			left, err := l.look(ctx)
			if err != nil {
				return err
			}
			show.Draw()
			if !until.IsZero() && (left == 0 || time.Now().After(until)) {
				l.late = left > 0
				return l.bury(ctx)
			}
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// every returns a ticker that never ticks for 0.
func every(d time.Duration) *time.Ticker {
	if d > 0 {
		return time.NewTicker(d)
	}
	t := time.NewTicker(time.Hour)
	t.Stop()
	return t
}

// ordered returns the order of a number; some have no address.
func ordered(number int) order {
	o := order{Number: number, Address: fmt.Sprint(number, " Main Street")}
	if number%25 == 7 {
		o.Address = ""
	}
	return o
}

// take takes the orders, one behind the other.
func (l *line) take(ctx context.Context) error {
	tick := every(l.every)
	defer tick.Stop()
	for number := range l.orders {
		if err := handOn(ctx, l.queues[0], ordered(number)); err != nil {
			return err
		}
		if l.every > 0 {
			select {
			case <-tick.C:
			case <-ctx.Done():
				return ctx.Err()
			}
		}
	}
	return nil
}

// hear notes what a place has said.
func (l *line) hear(e event) error {
	st := l.stations[e.Place]
	switch e.Kind {
	case ready:
		st.ready = true
	case failed:
		return fmt.Errorf("%s: %s", places[e.Place], e.Err)
	case ended:
		if !st.killed {
			return fmt.Errorf("%s has ended: %s", places[e.Place], e.Err)
		}
		return l.launch(e.Place)
	}
	return nil
}

// killOne kills the process that was killed least often, of those that take orders.
func (l *line) killOne() {
	var victim *station
	for _, st := range l.stations {
		if st.ready && !st.killed && (victim == nil || st.kills < victim.kills) {
			victim = st
		}
	}
	if victim != nil && victim.member.Kill() == nil { // its end starts it again
		victim.killed = true
		victim.kills++
	}
}

// look looks how the queues are, and how many orders are in them. They are looked at in
// the order in which orders go through, so none slips by.
func (l *line) look(ctx context.Context) (left int64, err error) {
	for place, q := range l.queues {
		s, err := q.Stats(ctx)
		if err != nil {
			return 0, err
		}
		l.stations[place].stats = s
		left += s.Ready + s.Delayed + s.Running + s.Behind
	}
	return left, nil
}

// bury looks who is dead.
func (l *line) bury(ctx context.Context) error {
	for _, q := range l.queues {
		for info, err := range q.Messages(ctx, reliable.Dead) {
			if err != nil {
				return err
			}
			o, err := q.Decode(info)
			if err != nil {
				return err
			}
			l.dead = append(l.dead, o)
		}
	}
	return nil
}

// end ends the processes.
func (l *line) end() {
	var members []*crew.Member
	for _, st := range l.stations {
		members = append(members, st.member)
	}
	crew.EndAll(l.events, members...)
}

// report prints a table of the places.
func (l *line) report(out io.Writer) {
	fmt.Fprintf(out, "%d orders, 3 processes, server: %s, %.1f s\n\n", l.orders, l.server, l.took.Seconds())
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "place\tadded\tdone\tretried\tlease ran out\tdead\tkilled\t")
	kills := 0
	for place, st := range l.stations {
		s := st.stats
		kills += st.kills
		fmt.Fprintf(table, "%s\t%d\t%d\t%d\t%d\t%d\t%d\t\n", places[place], s.Added, s.Acked, s.Retried, s.RanOut, s.Dead, st.kills)
	}
	_ = table.Flush()
	letters, asked := l.post.sent()
	mailed := 0
	for _, n := range letters {
		mailed += n
	}
	fmt.Fprintf(out, "\nThe post was asked %d times and sent %d letters; processes were killed %d times.\n", asked, mailed, kills)
	if len(l.problems()) == 0 {
		fmt.Fprintf(out, "Every order was mailed exactly as often as it should: %d once, and %d without an address never.\n", mailed, len(l.dead))
	}
}

// shown is how many problems of a kind are named.
const shown = 3

// problems returns what must not be.
func (l *line) problems() (all []string) {
	letters, _ := l.post.sent()
	wrong := 0
	for number, n := range letters {
		should := 1
		if ordered(number).Address == "" {
			should = 0
		}
		if n != should {
			if wrong++; wrong <= shown {
				all = append(all, fmt.Sprintf("order %d was mailed %d times, not %d", number, n, should))
			}
		}
	}
	if wrong > shown {
		all = append(all, fmt.Sprintf("and %d others", wrong-shown))
	}
	without := 0
	for number := range l.orders {
		if ordered(number).Address == "" {
			without++
		}
	}
	for _, o := range l.dead {
		if o.Address != "" {
			all = append(all, fmt.Sprintf("order %d is dead", o.Number))
		}
	}
	if len(l.dead) != without {
		all = append(all, fmt.Sprintf("%d orders are dead, not the %d without an address", len(l.dead), without))
	}
	if l.late {
		all = append(all, fmt.Sprintf("after %v orders are left over", patience))
	}
	return all
}
