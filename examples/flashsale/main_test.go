package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	if os.Getenv(asCounter) != "" {
		os.Exit(counterMain())
	}
	redistest.Main(m, redistest.Children{"sale": saleChild})
}

// saleChild holds the sale whose flags it hears, in a process of its own.
func saleChild(p *redistest.Parent) {
	args, _ := p.Hear()
	os.Exit(run(strings.Fields(args), os.Stderr, os.Stderr))
}
