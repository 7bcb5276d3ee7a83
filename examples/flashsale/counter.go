package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/rueidisson/rueidisson"
)

// asCounter is the variable that makes this program a counter.
const asCounter = "RUEIDISSON_FLASHSALE_COUNTER"

// counter is one of the processes that serve buyers.
type counter struct {
	order
	strategy strategy
	client   *rueidisson.Client
	product  product
	out      *speaker
	inside   atomic.Int64
}

// serve does what the order on in says, and returns when in has ended.
func serve(in io.Reader, out io.Writer) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	told := json.NewDecoder(in)
	var o order
	if err := told.Decode(&o); err != nil {
		return fmt.Errorf("no order: %w", err)
	}
	c, err := open(o, out)
	if err != nil {
		newSpeaker(out).say(event{Kind: failed, Err: err.Error()})
		return nil // it has been said
	}
	c.out.say(event{Kind: ready})
	var work sync.WaitGroup
	var word string
	if told.Decode(&word) == nil && word == goWord {
		// Ends when the buyers are served, or when ctx does.
		work.Go(func() { c.serveAll(ctx) })
	}
	_, _ = io.Copy(io.Discard, in) // nothing more is said: this waits for the end
	cancel()
	work.Wait()
	return c.close()
}

func open(o order, out io.Writer) (*counter, error) {
	s, err := strategyNamed(o.Strategy)
	if err != nil {
		return nil, err
	}
	client, err := rueidisson.Open(o.URL, rueidisson.WithWatchdogTimeout(o.Watchdog))
	if err != nil {
		return nil, err
	}
	redis, err := connect(o.URL)
	if err != nil {
		return nil, errors.Join(err, client.Close(context.Background()))
	}
	return &counter{
		order: o, strategy: s, client: client,
		product: product{redis: redis, key: o.Product}, out: newSpeaker(out),
	}, nil
}

const closeTimeout = 2 * time.Second

func (c *counter) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	defer c.product.redis.Close()
	return c.client.Close(ctx)
}

// serveAll lets all buyers come at once and returns when they have gone.
func (c *counter) serveAll(ctx context.Context) {
	var buyers sync.WaitGroup
	for n := range c.Buyers {
		buyers.Go(func() { c.out.say(c.attend(ctx, n)) })
	}
	buyers.Wait()
	c.out.say(event{Kind: done})
}

// attend plays one buyer, from coming to going.
func (c *counter) attend(ctx context.Context, buyer int) event {
	came := time.Now()
	e := event{Kind: refused}
	if c.strategy.stock != nil {
		got, err := c.take(ctx, buyer)
		switch e.Wait = time.Since(came); {
		case err != nil:
			return event{Kind: failed, Err: err.Error()}
		case got:
			e.Kind = sold
		}
		return e
	}
	err := c.strategy.enter(ctx, c.client, c.Product, func(ctx context.Context) error {
		e.Wait = time.Since(came)
		got, err := c.buy(ctx, buyer)
		if got {
			e.Kind = sold
		}
		return err
	})
	if err != nil {
		return event{Kind: failed, Err: err.Error()}
	}
	return e
}

// take takes a piece, if one is left, thinks, and records the buyer.
func (c *counter) take(ctx context.Context, buyer int) (got bool, err error) {
	if got, err = c.strategy.stock(c.client, c.Product).sell(ctx); !got || err != nil {
		return false, err
	}
	if err := pause(ctx, c.Think); err != nil {
		return false, err
	}
	return true, c.product.record(ctx, buyerField(c.Process, buyer))
}

// buy reads the stock, thinks, and writes it back. It has to be alone with it.
func (c *counter) buy(ctx context.Context, buyer int) (got bool, err error) {
	left, err := c.product.left(ctx)
	if err != nil {
		return false, err
	}
	if c.inside.Add(1) == int64(c.FreezeAt) {
		return false, c.freeze(ctx)
	}
	if left == 0 {
		return false, nil
	}
	if err := pause(ctx, c.Think); err != nil {
		return false, err
	}
	err = c.product.sell(ctx, left-1, buyerField(c.Process, buyer))
	return err == nil, err
}

// freeze stays inside until the process is killed.
func (c *counter) freeze(ctx context.Context) error {
	c.out.say(event{Kind: holding})
	<-ctx.Done()
	return context.Cause(ctx)
}

func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
