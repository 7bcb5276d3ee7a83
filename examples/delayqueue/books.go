package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/google/uuid"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/board"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/queue"
)

// books is the orders, and the processes that have to do with them.
type books struct {
	settings
	url, name, server string
	stderr, terminal  io.Writer
	unpaid            *queue.Delayed[int]
	shop, clerk       *crew.Member
	events            chan event
	orders            []bought
	killed            time.Time
}

// bought is an order.
type bought struct {
	due      time.Time // zero: it was not placed yet
	paid     int
	canceled []time.Time
}

// open runs the whole of it.
func open(ctx context.Context, s settings, stderr io.Writer) (*books, error) {
	b := &books{
		settings: s, name: "unpaid-" + uuid.NewString()[:8],
		stderr: crew.OneAtATime(stderr), terminal: stderr, events: make(chan event, 10*mostOrders), orders: make([]bought, s.orders),
	}
	server, err := crew.OpenServer(s.addr)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	b.url, b.server = server.URL, server.Title
	c, err := rueidisson.Open(b.url)
	if err != nil {
		return nil, err
	}
	defer c.Close(context.Background())
	b.unpaid = unpaid(c, b.name)
	defer b.unpaid.Delete(context.Background())
	defer b.unpaid.Queue().Delete(context.Background())
	if b.clerk, err = b.start(false); err != nil {
		return nil, err
	}
	defer b.clerk.End()
	if b.shop, err = b.start(true); err != nil {
		return nil, err
	}
	defer b.shop.End()
	return b, b.watch(ctx)
}

func (b *books) start(shop bool) (*crew.Member, error) {
	m, err := crew.Start(asMember, b.stderr, crew.Hear(b.events), func(state string) { b.events <- event{Kind: ended, Shop: shop, Err: state} })
	if err != nil {
		return nil, err
	}
	return m, m.Tell(task{URL: b.url, Name: b.name, Shop: shop, Orders: b.settings.orders, Within: b.within})
}

// patience is how long what is due has to be canceled.
const patience = 30 * time.Second

// watch pays orders, and hears what becomes of the others.
func (b *books) watch(ctx context.Context) error {
	show := board.New(b.terminal, b.drawing)
	defer show.End()
	tick := time.NewTicker(b.within / 2 / time.Duration(b.settings.orders))
	defer tick.Stop()
	over := time.NewTimer(2*b.within + patience)
	defer over.Stop()
	for !b.settled() {
		select {
		case e := <-b.events:
			if err := b.hear(e); err != nil {
				return err
			}
		case <-tick.C:
			if err := b.payOne(ctx); err != nil {
				return err
			}
		case <-over.C:
			return nil // the report says what is left
		case <-ctx.Done():
			return ctx.Err()
		}
		show.Draw()
	}
	return nil
}

func (b *books) hear(e event) error {
	switch e.Kind {
	case placed:
		b.orders[e.Order].due = e.At
		if e.Order == b.settings.orders-1 {
			b.killed = time.Now()
			return b.shop.Kill()
		}
	case canceled:
		b.orders[e.Order].canceled = append(b.orders[e.Order].canceled, e.At)
	case failed:
		return fmt.Errorf("a process has failed: %s", e.Err)
	case ended:
		if !e.Shop || b.killed.IsZero() {
			return fmt.Errorf("a process has ended: %s", e.Err)
		}
	}
	return nil
}

// payOne pays some order, as long as so many are not paid that are to be.
func (b *books) payOne(ctx context.Context) error {
	open, paid := []int{}, 0
	for i, o := range b.orders {
		paid += o.paid
		if !o.due.IsZero() && o.paid == 0 && len(o.canceled) == 0 {
			open = append(open, i)
		}
	}
	if len(open) == 0 || float64(paid) >= b.pay*float64(b.settings.orders) {
		return nil
	}
	i := open[rand.IntN(len(open))]
	n, err := b.unpaid.Remove(ctx, i, 1)
	b.orders[i].paid += int(n) // 0: it is the clerk's already
	return err
}

// settled reports whether something has become of each order.
func (b *books) settled() bool {
	for _, o := range b.orders {
		if o.paid == 0 && len(o.canceled) == 0 {
			return false
		}
	}
	return true
}

// wide is how many orders stand in a line.
const wide = 60

// drawing returns a sign for each order.
func (b *books) drawing() (lines []string) {
	var signs []rune
	for _, o := range b.orders {
		sign := '░'
		switch {
		case o.paid > 0:
			sign = '$'
		case len(o.canceled) > 0:
			sign = '×'
		case !o.due.IsZero():
			sign = '█'
		}
		signs = append(signs, sign)
	}
	for some := range slices.Chunk(signs, wide) {
		lines = append(lines, string(some))
	}
	state := "the shop takes orders"
	if !b.killed.IsZero() {
		state = "the shop was killed"
	}
	return append(lines, "█ unpaid  $ paid  × canceled     "+state)
}

// report says what became of the orders.
func (b *books) report(out io.Writer) {
	paid, after := 0, 0
	var late []time.Duration
	for _, o := range b.orders {
		paid += o.paid
		for _, at := range o.canceled {
			late = append(late, at.Sub(o.due))
			if at.After(b.killed) {
				after++
			}
		}
	}
	slices.Sort(late)
	fmt.Fprintf(out, "%d orders, server: %s\n\n%d were paid, and %d canceled, %d of them after the shop was killed.\n",
		len(b.orders), b.server, paid, len(late), after)
	if len(late) > 0 {
		fmt.Fprintf(out, "They were canceled %v behind their time in the middle, and %v at most.\n",
			late[len(late)/2].Round(100*time.Microsecond), late[len(late)-1].Round(100*time.Microsecond))
	}
}

// early is how much the clocks of a shop and of a clerk may differ here.
const early = 5 * time.Millisecond

// problems returns what went wrong.
func (b *books) problems() (all []string) {
	for i, o := range b.orders {
		switch n := o.paid + len(o.canceled); {
		case n == 0:
			all = append(all, fmt.Sprintf("order %d was neither paid nor canceled", i))
		case n > 1:
			all = append(all, fmt.Sprintf("order %d was paid %d times, and canceled %d times", i, o.paid, len(o.canceled)))
		case len(o.canceled) == 1 && o.canceled[0].Before(o.due.Add(-early)):
			all = append(all, fmt.Sprintf("order %d was canceled %v before its time", i, o.due.Sub(o.canceled[0])))
		}
	}
	if b.killed.IsZero() {
		all = append(all, "the shop was not killed")
	}
	return all
}
