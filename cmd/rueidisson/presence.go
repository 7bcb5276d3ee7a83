package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
)

// looksEvery is how often a stream looks whether its server is there.
const looksEvery = time.Second

// presence is whether the server of a stream is there, as its own looks and the notices of the library say.
type presence struct {
	*tool
	address string

	mu   sync.Mutex
	away error // nil: it is there
}

// present runs do, which goes on for long, and tells on standard error when the server is lost and when it is back.
func (t *tool) present(ctx context.Context, do func(p *presence) error) error {
	option, err := t.option()
	if err != nil {
		return err
	}
	p := &presence{tool: t, address: strings.Join(option.InitAddress, ", ")}
	option.DisableCache, option.DisableRetry = true, true
	looking, stop := context.WithCancel(ctx)
	var done sync.WaitGroup
	done.Go(func() { p.look(looking, option) }) // ends with looking
	err = do(p)
	stop()
	done.Wait()
	return err
}

// look asks the server again and again.
func (p *presence) look(ctx context.Context, option rueidis.ClientOption) {
	var client rueidis.Client
	defer func() {
		if client != nil {
			client.Close()
		}
	}()
	for {
		var err error
		if client == nil {
			client, err = rueidis.NewClient(option)
		}
		if err == nil {
			bounded, cancel := context.WithTimeout(ctx, answering)
			err = client.Do(bounded, client.B().Ping().Build()).Error()
			cancel()
		}
		switch {
		case ctx.Err() != nil:
			return
		case unreached(err):
			p.lost(err)
		default: // any answer, also a refusal
			p.back(false)
		}
		select {
		case <-time.After(looksEvery):
		case <-ctx.Done():
			return
		}
	}
}

// note reports whether an error of a sequence is a notice about its connection, and tells of it.
func (p *presence) note(err error) bool {
	switch {
	case errors.Is(err, rueidisson.ErrDisconnected):
		p.lost(err)
	case errors.Is(err, rueidisson.ErrReconnected):
		p.back(true)
	default:
		return false
	}
	return true
}

// lost tells that the server is lost, once.
func (p *presence) lost(err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away == nil {
		p.tell("lost", err, fmt.Sprintf("lost the server %s, connecting again: %v", p.address, err))
	}
	p.away = err
}

// back tells that the server is back, once. A notice of the library rules over the looks: a subscription may be back later
// than the server.
func (p *presence) back(noticed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away == nil || !noticed && errors.Is(p.away, rueidisson.ErrDisconnected) {
		return
	}
	p.away = nil
	p.tell("back", nil, fmt.Sprintf("the server %s is back", p.address))
}

func (p *presence) tell(connection string, err error, text string) {
	if !p.json {
		p.say("%s", text)
		return
	}
	told := struct {
		Connection string `json:"connection"`
		Error      string `json:"error,omitempty"`
	}{Connection: connection}
	if err != nil {
		told.Error = err.Error()
	}
	p.sayJSON(p.stderr, told)
}

// over returns the end of a stream whose time is over: an error if the server is away.
func (p *presence) over() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.away == nil {
		return nil
	}
	return &ending{code: exitUnavailable, err: fmt.Errorf("the time is over, and the server %s is still away: %w", p.address, p.away)}
}
