package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
)

const startPatience = 15 * time.Second

// startServer starts a server as a process of its own and returns when it
// serves. It lives until its End, not until ctx ends: the last requests are
// answered.
func startServer(ctx context.Context, o order, stderr io.Writer) (*crew.Member, string, error) {
	answer := make(chan ready, 1)
	m, err := crew.Start(asServer, stderr, func(said *json.Decoder) {
		r := ready{Err: "it has ended"} // if it says nothing
		_ = said.Decode(&r)
		answer <- r
	}, nil)
	if err != nil {
		return nil, "", err
	}
	_ = m.Tell(o) // it answers if it has heard
	url, err := await(ctx, answer)
	if err != nil {
		m.End()
		return nil, "", fmt.Errorf("a server: %w", err)
	}
	return m, url, nil
}

// await waits until the order is carried out, or ctx ends.
func await(ctx context.Context, answer <-chan ready) (url string, err error) {
	ctx, cancel := context.WithTimeout(ctx, startPatience)
	defer cancel()
	select {
	case r := <-answer:
		if r.Err != "" {
			err = errors.New(r.Err)
		}
		return r.URL, err
	case <-ctx.Done():
		return "", context.Cause(ctx)
	}
}
