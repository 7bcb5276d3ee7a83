package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/ratelimiter/httplimit"
)

// asServer is the variable that makes this program a server.
const asServer = "RUEIDISSON_RATELIMIT_SERVER"

// clientHeader says whose request it is.
const clientHeader = "X-Client"

const (
	decisionTimeout = 2 * time.Second
	closeTimeout    = 2 * time.Second
)

// order is what a server is told, as a line of JSON on standard input. When that
// ends, so does the server, also if nobody is left to end it.
type order struct{ URL, Limiter string }

// ready is what it says then, as a line of JSON on standard output.
type ready struct{ URL, Err string }

// serve does what the order on in says, and returns when in has ended.
func serve(in io.Reader, out io.Writer) (err error) {
	var o order
	if err := json.NewDecoder(in).Decode(&o); err != nil {
		return fmt.Errorf("no order: %w", err)
	}
	say := json.NewEncoder(out)
	c, err := rueidisson.Open(o.URL)
	if err != nil {
		return say.Encode(ready{Err: err.Error()})
	}
	defer func() { err = errors.Join(err, soon(c.Close)) }()
	handler, err := limited(c, o.Limiter)
	if err != nil {
		return err
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return err
	}
	s := &http.Server{Handler: handler, ReadHeaderTimeout: closeTimeout}
	served := make(chan error, 1)
	// Ends with Shutdown or Close.
	go func() { served <- s.Serve(l) }()
	err = say.Encode(ready{URL: "http://" + l.Addr().String()})
	if err == nil {
		_, err = io.Copy(io.Discard, in) // nothing more is said: this waits for the end
	}
	if soon(s.Shutdown) != nil {
		_ = s.Close()
	}
	if end := <-served; !errors.Is(end, http.ErrServerClosed) {
		err = errors.Join(err, end)
	}
	return err
}

// limited returns the handler behind the limit.
func limited(c *rueidisson.Client, limiter string) (http.Handler, error) {
	limit, err := httplimit.New(c.RateLimiter(limiter), httplimit.ByHeader(clientHeader, httplimit.Plain()), httplimit.FailClosed,
		httplimit.PolicyNames("api"), httplimit.Timeout(decisionTimeout))
	if err != nil {
		return nil, err
	}
	return limit(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprintf(w, "hello, %s\n", r.Header.Get(clientHeader))
	})), nil
}
