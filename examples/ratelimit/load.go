package main

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"sync"
	"sync/atomic"
	"time"
)

// answerPatience is what an answer may take.
const answerPatience = 5 * time.Second

// client is one of those who send requests, one after the other.
type client struct {
	name                     string
	pace                     int // requests a second
	allowed, refused, failed atomic.Int64
	audit                    audit // by the client's goroutine until it has ended
	problem                  error // the last one, likewise
	elapsed                  time.Duration
}

// load lets the clients at the servers for d, or until ctx ends, and returns
// when every answer has come.
func load(ctx context.Context, d time.Duration, servers []string, stdout io.Writer) []*client {
	clients := []*client{{name: "alice", pace: 3}, {name: "bob", pace: 8}, {name: "mallory", pace: 40}}
	transport := &http.Transport{MaxIdleConnsPerHost: len(clients)}
	defer transport.CloseIdleConnections()
	web := &http.Client{Transport: transport, Timeout: answerPatience}
	ctx, cancel := context.WithTimeout(ctx, d)
	defer cancel()
	screen := newScreen(stdout, clients)
	start := time.Now()
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() { c.send(ctx, web, servers, start) })
	}
	over := make(chan struct{})
	// Ends with the clients.
	go func() { all.Wait(); close(over) }()
	screen.follow(start, d, over)
	elapsed := time.Since(start)
	for _, c := range clients {
		c.elapsed = elapsed
	}
	screen.summary()
	return clients
}

// send sends requests to the servers in turn until ctx ends. The last one is
// waited for. A pace that cannot be kept is not caught up with.
func (c *client) send(ctx context.Context, web *http.Client, servers []string, start time.Time) {
	ticks := time.NewTicker(time.Second / time.Duration(c.pace))
	defer ticks.Stop()
	for n := 0; ctx.Err() == nil; n++ {
		sent := time.Since(start)
		status, err := c.ask(context.WithoutCancel(ctx), web, servers[n%len(servers)])
		c.count(status, err, sent, time.Since(start))
		select {
		case <-ticks.C:
		case <-ctx.Done():
		}
	}
}

func (c *client) ask(ctx context.Context, web *http.Client, server string) (status int, err error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, server, nil)
	if err != nil {
		return 0, err
	}
	r.Header.Set(clientHeader, c.name)
	answer, err := web.Do(r)
	if err != nil {
		return 0, err
	}
	defer answer.Body.Close()
	_, err = io.Copy(io.Discard, answer.Body) // or the connection cannot be used again
	return answer.StatusCode, err
}

func (c *client) count(status int, err error, sent, answered time.Duration) {
	switch {
	case status == http.StatusOK: // granted, even if the rest of it was lost
		c.allowed.Add(1)
		c.audit.grant(sent, answered)
	case status == http.StatusTooManyRequests:
		c.refused.Add(1)
	default:
		c.failed.Add(1)
		c.problem = err
		if err == nil {
			c.problem = fmt.Errorf("status %d", status)
		}
	}
}

// audit checks that no window of time had more grants than burst and what the
// rate brings meanwhile. Times are since the start of the load.
type audit struct {
	granted int64
	// strictest is of the windows so far that which the next grant is least
	// welcome in: what the rate brought until it began, less what was granted.
	strictest int64
	above     bool
}

// token is one in the unit of the audit: in a nanosecond come rate of them.
const token = int64(time.Second)

// grain is by how much a window may look shorter here than to the server: the
// one inside of this process moves its clock by a millisecond at least, and no
// two clocks run alike.
const grain = 2 * time.Millisecond

// grant counts a grant, decided about between the two times.
func (a *audit) grant(sent, answered time.Duration) {
	a.strictest = max(a.strictest, rate*int64(sent)-a.granted*token)
	a.granted++
	if a.granted*token-rate*int64(answered+grain)+a.strictest > burst*token {
		a.above = true
	}
}
