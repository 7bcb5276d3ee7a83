package multilock_test

import (
	"testing"

	"github.com/rueidisson/rueidisson"
	"github.com/rueidisson/rueidisson/internal/locktest"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, fleetChildren) }

// soon bounds what has to happen, on a machine however slow.
var soon = redistest.Soon

func connect(addr string, opts ...rueidisson.Option) (*rueidisson.Client, error) {
	return rueidisson.New(locktest.Single(addr), opts...)
}
