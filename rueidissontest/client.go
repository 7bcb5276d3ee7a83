package rueidissontest

import (
	"context"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson"
)

// NewClient returns a client on a server of its own, with the machine's clock.
// Both end with t; see [Server.NewClient].
func NewClient(t testing.TB, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	return NewServer(t).NewClient(t, opts...)
}

// patience is for goroutines of the test that unlock when they see their holds'
// contexts end. Only a test that leaves a hold locked waits for so long.
const patience = time.Second

// NewClient returns a client on the server: it stands for one process of a service.
// It fails t if an option cannot be used.
//
// The client is closed when t ends. Holds that are not released within a second
// after that are logged and do not fail t, because the test may want to leave one,
// as a crash does. A test that wants to be sure that everything was
// released closes the client itself and looks at the error; closing it again
// does nothing.
func (s *Server) NewClient(t testing.TB, opts ...rueidisson.Option) *rueidisson.Client {
	t.Helper()
	c, err := rueidisson.New(s.ClientOption(), append([]rueidisson.Option{along{s}}, opts...)...)
	if err != nil {
		t.Fatalf("rueidissontest: %v", err)
	}
	t.Cleanup(func() {
		// t.Context() has ended by now.
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		if err := c.Close(ctx); err != nil {
			t.Logf("rueidissontest: %v", err)
		}
	})
	return c
}
