package rwlock_test

import (
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) { redistest.Main(m, redistest.Children{"spinner": spinner}) }
