package ratelimiter_test

import (
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Main(m, children, fleetChildren, arrivalChildren, followingChildren)
}

// children are the processes that tests start.
var children = map[string]func(*redistest.Parent){}
