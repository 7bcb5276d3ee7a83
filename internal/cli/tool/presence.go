package tool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/redis/rueidis"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/cli/exit"
	"github.com/rueidisson/rueidisson/internal/cli/server"
	"github.com/rueidisson/rueidisson/topic"
)

// looksEvery separates the looks of a stream at its server.
const looksEvery = time.Second

// Presence watches whether the server of a stream is there: by looks of its own, and by the notices of the stream.
type Presence struct {
	*Tool
	address string

	mu   sync.Mutex
	down error // of the last look; nil: the server has answered
	cut  error // the notice that the stream has lost its connection; nil: it has one
	hole bool  // messages may have been missed meanwhile
}

// Present runs do, which goes on for long, and tells on standard error when the server is lost and when it is back.
func (t *Tool) Present(ctx context.Context, do func(p *Presence) error) error {
	option, err := t.Option()
	if err != nil {
		return err
	}
	p := &Presence{Tool: t, address: strings.Join(option.InitAddress, ", ")}
	option.DisableCache, option.DisableRetry = true, true
	looking, stop := context.WithCancel(ctx)
	option.Dialer.Timeout = 2 * looksEvery // a connection in the making does not end with the stream
	var done sync.WaitGroup
	done.Go(func() { p.look(looking, option) }) // ends with looking
	err = do(p)
	stop()
	done.Wait()
	return err
}

// look asks the server again and again.
func (p *Presence) look(ctx context.Context, option rueidis.ClientOption) {
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
			bounded, cancel := context.WithTimeout(ctx, server.Answering)
			err = client.Do(bounded, client.B().Ping().Build()).Error()
			cancel()
		}
		switch {
		case ctx.Err() != nil:
			return
		case !server.Unreached(err): // any answer, also a refusal
			err = nil
		}
		p.note(&p.down, err)
		select {
		case <-time.After(looksEvery):
		case <-ctx.Done():
			return
		}
	}
}

// Noticed reports whether an error of a sequence is a notice about its connection, and notes it.
func (p *Presence) Noticed(err error) bool {
	switch {
	case errors.Is(err, rueidisson.ErrDisconnected):
		p.note(&p.cut, err)
	case errors.Is(err, rueidisson.ErrReconnected):
		p.mu.Lock()
		p.hole = errors.Is(err, topic.ErrInterrupted)
		p.mu.Unlock()
		p.note(&p.cut, nil)
	default:
		return false
	}
	return true
}

// note sets what a look or a notice says, and tells when the server is lost by one of them, and back by both.
func (p *Presence) note(what *error, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	was := cmp.Or(p.cut, p.down)
	*what = err
	switch is := cmp.Or(p.cut, p.down); {
	case was == nil && is != nil:
		p.tell("lost", is, fmt.Sprintf("lost the server %s, connecting again: %v", p.address, is))
	case was != nil && is == nil:
		text := fmt.Sprintf("the server %s is back", p.address)
		if p.hole {
			text += ": messages may have been missed"
		}
		p.hole = false
		p.tell("back", nil, text)
	}
}

func (p *Presence) tell(connection string, err error, text string) {
	if !p.JSON {
		p.Say("%s", text)
		return
	}
	told := struct {
		Connection string `json:"connection"`
		Error      string `json:"error,omitempty"`
	}{Connection: connection}
	if err != nil {
		told.Error = err.Error()
	}
	p.SayJSON(p.Stderr, told)
}

// Over returns the end of a stream whose time is over: an error if the server is away.
func (p *Presence) Over() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	away := cmp.Or(p.cut, p.down)
	if away == nil {
		return nil
	}
	return &exit.Error{Code: exit.Unavailable, Err: fmt.Errorf("the time is over, and the server %s is still away: %w", p.address, away)}
}
