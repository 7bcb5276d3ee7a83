package guide

import (
	"context"
	"testing"
	"time"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/embedded"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// connect replaces rueidisson.Open with the URL of a Redis or Valkey.
func connect() (c *rueidisson.Client, stop func()) {
	c, _, stop = connectTwo()
	return c, stop
}

// connectTwo returns two clients of one server, as two processes have.
func connectTwo() (one, two *rueidisson.Client, stop func()) {
	s, err := embedded.Start()
	check(err)
	one, err = rueidisson.Open(s.URL())
	check(err)
	two, err = rueidisson.Open(s.URL())
	check(err)
	return one, two, func() {
		check(one.Close(context.Background()))
		check(two.Close(context.Background()))
		s.Close()
	}
}

// check ends an example that cannot go on.
func check(err error) {
	if err != nil {
		panic(err)
	}
}

// until waits until a condition holds.
func until(holds func() bool) {
	for !holds() {
		time.Sleep(time.Millisecond)
	}
}
