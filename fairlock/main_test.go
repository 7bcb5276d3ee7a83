package fairlock_test

import (
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Main(m, fleetChildren, faultChildren, crowdChildren, namesChildren)
}
