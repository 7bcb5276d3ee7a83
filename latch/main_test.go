package latch

import (
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	redistest.Main(m, redistest.Children{"waiter at a latch": waiterChild, "party of a barrier": partyChild})
}
