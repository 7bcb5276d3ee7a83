// Command ratelimit lets three clients at two HTTP servers behind one limit, and
// draws what each of them gets.
//
//	go run ./examples/ratelimit
//	go run ./examples/ratelimit -for 30s
//	go run ./examples/ratelimit -addr 127.0.0.1:6379
//
// The servers are real processes, this program started again, each with a Redis
// client of its own and the middleware of ratelimiter/httplimit. Every client
// may have 5 requests a second and a burst of 10, whichever server it asks:
// alice stays below that, bob is a little above it, mallory far above.
//
// It needs no Redis: without -addr one runs inside of this process, and the
// servers reach it over TCP.
//
// Exit codes: 0 nobody got more than the limit allows, 1 somebody did, 2 the
// flags cannot be understood, 3 the servers could not be run or did not answer.
package main

import (
	"context"
	"crypto/rand"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/ratelimiter"
)

const (
	exitWrong  = 1
	exitUsage  = 2
	exitFailed = 3
)

const (
	rate    = 5 // a second
	burst   = 10
	servers = 2
	longest = time.Minute // for -for
)

func main() {
	crew.Join(asServer, "ratelimit: a server", serve)
	os.Exit(run(os.Args[1:], os.Stdout, os.Stderr))
}

// run does what args ask for and returns the exit code.
func run(args []string, stdout, stderr io.Writer) int {
	s, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	clients, err := show(ctx, s, stdout, stderr)
	if err != nil {
		fmt.Fprintln(stderr, "ratelimit:", err)
		return exitFailed
	}
	return verdict(clients, stderr)
}

// settings are the flags.
type settings struct {
	addr string
	load time.Duration
}

// parse reads the flags. What is wrong with them it says itself.
func parse(args []string, stderr io.Writer) (s settings, err error) {
	f := flag.NewFlagSet("ratelimit", flag.ContinueOnError)
	f.SetOutput(stderr)
	crew.Addr(f, &s.addr)
	f.DurationVar(&s.load, "for", 10*time.Second, "how long the clients send requests")
	if err := f.Parse(args); err != nil {
		return s, err // the flag package has said it
	}
	switch {
	case f.NArg() > 0:
		err = fmt.Errorf("what is %q? There are only flags", strings.Join(f.Args(), " "))
	case s.load <= 0 || s.load > longest:
		err = fmt.Errorf("-for %v is not above 0 and up to %v", s.load, longest)
	}
	if err != nil {
		fmt.Fprintln(stderr, "ratelimit:", err)
		f.Usage()
	}
	return s, err
}

// show sets the limit, starts the servers, and lets the clients at them.
func show(ctx context.Context, s settings, stdout, stderr io.Writer) (_ []*client, err error) {
	redis, err := crew.OpenServer(s.addr)
	if err != nil {
		return nil, err
	}
	defer redis.Close()
	c, err := rueidisson.Open(redis.URL)
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, soon(c.Close)) }()
	// A name of its own: on a Redis of others nothing of theirs is touched.
	limit := c.RateLimiter("ratelimit:" + rand.Text())
	if err := limit.SetRate(ctx, ratelimiter.PerSecond(rate).WithBurst(burst)); err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, soon(forget(limit))) }()
	var urls []string
	said := crew.OneAtATime(stderr)
	for range servers {
		server, url, err := startServer(ctx, order{URL: redis.URL, Limiter: limit.Name()}, said)
		if err != nil {
			return nil, err
		}
		defer server.End() // before the limit is deleted
		urls = append(urls, url)
	}
	return load(ctx, s.load, urls, stdout), nil
}

func forget(l *ratelimiter.Limiter) func(context.Context) error {
	return func(ctx context.Context) error {
		_, err := l.Delete(ctx)
		return err
	}
}

// soon cleans up, also after Ctrl-C, but not for ever.
func soon(clean func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.Background(), closeTimeout)
	defer cancel()
	return clean(ctx)
}
