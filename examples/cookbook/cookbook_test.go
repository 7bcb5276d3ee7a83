package cookbook

import (
	"context"
	"testing"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// connect stands for rueidisson.Open with the URL of a Redis or Valkey.
func connect() (c *rueidisson.Client, stop func()) {
	s, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	c, err = rueidisson.Open(s.URL())
	if err != nil {
		panic(err)
	}
	return c, func() {
		if err := c.Close(context.Background()); err != nil {
			panic(err)
		}
		s.Close()
	}
}

// check ends an example that cannot go on.
func check(err error) {
	if err != nil {
		panic(err)
	}
}
