package main

import (
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"slices"
	"text/tabwriter"
	"time"

	"github.com/google/uuid"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/board"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/rmap"
)

// catalog is the store, the map and the processes, and what those have said.
type catalog struct {
	settings
	url, name, server string
	stderr            io.Writer
	terminal          io.Writer // where it is drawn, if it is one
	store             *store
	shared            *rmap.Map[int, price]
	pages             []*shop
	events            chan event
	prices            [products][]time.Time // of each: when its prices were there for all
}

// shop is what is known of a process.
type shop struct {
	member *crew.Member
	seen   [products]int // versions; -1: none yet
	ages   []time.Duration
	last   event // what it has counted
}

func start(ctx context.Context, s settings, stderr io.Writer) (*catalog, error) {
	c := &catalog{
		settings: s, name: "catalog-" + uuid.NewString()[:8],
		stderr: crew.OneAtATime(stderr), terminal: stderr, events: make(chan event, 1000),
	}
	server, err := crew.OpenServer(s.addr)
	if err != nil {
		return nil, err
	}
	defer server.Close()
	c.url, c.server = server.URL, server.Title
	client, err := rueidisson.Open(c.url)
	if err != nil {
		return nil, err
	}
	defer client.Close(context.Background())
	if c.store, err = openStore(s.slow, s.pages); err != nil {
		return nil, err
	}
	defer c.store.close()
	c.shared = prices(client, c.name)
	defer c.shared.Delete(context.Background())
	defer c.end()
	for i := range s.pages {
		if err := c.launch(i); err != nil {
			return nil, err
		}
	}
	return c, c.watch(ctx)
}

func (c *catalog) launch(i int) error {
	sh := &shop{}
	for product := range sh.seen {
		sh.seen[product] = -1
	}
	m, err := crew.Start(asPage, c.stderr, crew.Hear(c.events), func(state string) { c.events <- event{Kind: ended, Page: i, Err: state} })
	if err != nil {
		return err
	}
	sh.member = m
	c.pages = append(c.pages, sh)
	return m.Tell(order{URL: c.url, Store: c.store.url, Name: c.name, Page: i, Tracked: c.tracked})
}

// patience is how long the last prices have to be seen.
const patience = 30 * time.Second

// watch changes prices once every process shows the page, and hears what they say
// until all have seen the last ones.
func (c *catalog) watch(ctx context.Context) error {
	show := board.New(c.terminal, c.drawing)
	defer show.End()
	ticker := time.NewTicker(c.every)
	defer ticker.Stop()
	var until time.Time
	for {
		select {
		case e := <-c.events:
			if err := c.hear(e); err != nil {
				return err
			}
		case <-ticker.C:
			switch {
			case until.IsZero() && c.behind() == 0:
				until = time.Now().Add(c.lasts)
			case !until.IsZero() && time.Now().Before(until):
				if err := c.change(ctx); err != nil {
					return err
				}
			case !until.IsZero() && (c.behind() == 0 || time.Since(until) > patience):
				return nil
			}
			show.Draw()
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// change gives a product another price, in the store first, and then for all.
func (c *catalog) change(ctx context.Context) error {
	product := rand.IntN(products)
	if err := c.shared.Put(ctx, product, c.store.change(product, 1+rand.IntN(10_000))); err != nil {
		return err
	}
	c.prices[product] = append(c.prices[product], time.Now())
	return nil
}

// hear notes what a process has said.
func (c *catalog) hear(e event) error {
	sh := c.pages[e.Page]
	switch e.Kind {
	case saw:
		sh.seen[e.Product] = e.Version
		if e.Version > 0 { // else it was loaded
			sh.ages = append(sh.ages, max(e.At.Sub(c.prices[e.Product][e.Version-1]), 0))
		}
	case counts:
		sh.last = e
	case failed:
		return fmt.Errorf("page %d: %s", e.Page, e.Err)
	case ended:
		return fmt.Errorf("page %d has ended: %s", e.Page, e.Err)
	}
	return nil
}

// behind returns how many last prices are not seen by how many processes.
func (c *catalog) behind() (n int) {
	for _, sh := range c.pages {
		for product, version := range sh.seen {
			if version < len(c.prices[product]) {
				n++
			}
		}
	}
	return n
}

// end ends the processes.
func (c *catalog) end() {
	var members []*crew.Member
	for _, sh := range c.pages {
		members = append(members, sh.member)
	}
	crew.EndAll(c.events, members...)
}

// report prints a table of the processes.
func (c *catalog) report(out io.Writer) {
	changes := 0
	for _, each := range c.prices {
		changes += len(each)
	}
	fmt.Fprintf(out, "%d processes, %d products, %d changes of prices, server: %s\n\n", len(c.pages), products, changes, c.server)
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(table, "process\tpages\thits\tof reads\tloads\told price, median\tlongest\t")
	by, _ := c.store.loaded()
	loads := 0
	for i, sh := range c.pages {
		loads += by[i]
		slices.Sort(sh.ages)
		fmt.Fprintf(table, "%d\t%d\t%d\t%s\t%d\t%s\t%s\t\n", i, sh.last.Shown, sh.last.Hits, sh.ratio(), by[i], sh.age(0.5), sh.age(1))
	}
	_ = table.Flush()
	fmt.Fprintf(out, "\nThe store was asked %d times, for %d products.\n", loads, products)
	if err := c.pages[0].last.Err; err != "" {
		fmt.Fprintf(out, "There are no near copies, every read went to the map: %s.\n", err)
	}
}

func (sh *shop) ratio() string {
	if sh.last.Hits+sh.last.Misses == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f %%", 100*float64(sh.last.Hits)/float64(sh.last.Hits+sh.last.Misses))
}

// age is for how long a price was shown that was another's already, of so many of
// them at most.
func (sh *shop) age(share float64) string {
	if len(sh.ages) == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f ms", float64(sh.ages[int(share*float64(len(sh.ages)-1))].Microseconds())/1000)
}

// problems returns what must not be.
func (c *catalog) problems() (all []string) {
	if n := c.behind(); n > 0 {
		all = append(all, fmt.Sprintf("%d of the last prices were not seen", n))
	}
	_, each := c.store.loaded()
	for product, loads := range each {
		if loads != 1 {
			all = append(all, fmt.Sprintf("product %d was loaded %d times", product, loads))
		}
	}
	return all
}
