package main

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/rmap"
	"github.com/rueidisson/rueidisson/rmap/nearcache"
	"github.com/rueidisson/rueidisson/rmap/readthrough"
)

// asPage is the variable that makes this program a process that shows the page.
const asPage = "RUEIDISSON_CATALOG_PAGE"

// order is what a process is told, as a line of JSON on standard input. When that
// ends, so does the process.
type order struct {
	URL, Store, Name string
	Page             int
	Tracked          bool
}

type kind string

const (
	saw    kind = "saw"    // a price for the first time
	counts kind = "counts" // what the near cache has done so far
	failed kind = "failed"
	ended  kind = "ended" // the process has; it does not say so itself
)

// event is what a process says, as a line of JSON on standard output.
type event struct {
	Kind    kind
	Page    int
	At      time.Time
	Product int
	Version int
	Shown   int64 // pages
	Hits    int64
	Misses  int64
	Err     string `json:",omitempty"`
}

// serve does what the order on in says, and returns when in has ended.
func serve(in io.Reader, out io.Writer) error {
	return crew.Work(in, out, (*order).work, func(o *order, err error) any {
		return event{Kind: failed, Page: o.Page, Err: err.Error()}
	})
}

// prices returns the map that all share.
func prices(c *rueidisson.Client, name string) *rmap.Map[int, price] {
	return rmap.New[int, price](c, name, rmap.WithAnnounce())
}

// page is what a process shows.
type page struct {
	order
	near *nearcache.Cache[int, price]
	seen [products]int // the version of each price that was seen last
}

// often is how often a process counts, and rest how long it is idle behind a page.
const (
	often = 100 * time.Millisecond
	rest  = 500 * time.Microsecond
)

// work shows the page again and again.
func (o *order) work(ctx context.Context, say *json.Encoder) error {
	c, err := rueidisson.Open(o.URL)
	if err != nil {
		return err
	}
	defer c.Close(context.Background())
	var opts []nearcache.Option
	if !o.Tracked {
		opts = append(opts, nearcache.WithAnnounced())
	}
	p := &page{order: *o, near: nearcache.New(readthrough.New(prices(c, o.Name), o.load), opts...)}
	defer p.near.Close()
	for i := range p.seen {
		p.seen[i] = -1
	}
	counted := time.Now()
	for shown := int64(1); ctx.Err() == nil; shown++ { // a hit does not ask ctx
		if err := p.show(ctx, say); err != nil {
			return err
		}
		if time.Since(counted) > often {
			counted = time.Now()
			p.count(say, shown)
		}
		time.Sleep(rest)
	}
	return ctx.Err()
}

// show reads all products, and says which prices it has not seen before.
func (p *page) show(ctx context.Context, say *json.Encoder) error {
	for product := range products {
		now, err := p.price(ctx, product)
		switch {
		case err != nil:
			return err
		case now.Version < p.seen[product]:
			return fmt.Errorf("price %d of product %d came back, behind price %d", now.Version, product, p.seen[product])
		case now.Version > p.seen[product]:
			p.seen[product] = now.Version
			_ = say.Encode(event{Kind: saw, Page: p.Page, At: time.Now(), Product: product, Version: now.Version})
		}
	}
	return nil
}

func (p *page) count(say *json.Encoder, shown int64) {
	did := p.near.Stats()
	e := event{Kind: counts, Page: p.Page, Shown: shown, Hits: did.Hits, Misses: did.Misses}
	if did.Err != nil {
		e.Err = did.Err.Error()
	}
	_ = say.Encode(e)
}

// price is from the process's own memory, or from the map, or else from the store,
// which one of all processes asks.
func (p *page) price(ctx context.Context, product int) (price, error) {
	now, there, err := p.near.Get(ctx, product)
	if err == nil && !there {
		err = fmt.Errorf("the store has no product %d", product)
	}
	return now, err
}

// load asks the store.
func (o *order) load(ctx context.Context, product int) (now price, there bool, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, fmt.Sprintf("%s/?product=%d&page=%d", o.Store, product, o.Page), nil)
	if err != nil {
		return now, false, err
	}
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		return now, false, err
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return now, false, fmt.Errorf("the store says %s", resp.Status)
	}
	err = json.NewDecoder(resp.Body).Decode(&now)
	return now, err == nil, err
}
