package main

import (
	"os"
	"strings"
	"testing"

	"github.com/rueidisson/rueidisson/examples/internal/crew"
	"github.com/rueidisson/rueidisson/internal/redistest"
)

func TestMain(m *testing.M) {
	crew.Join(asCounter, "flashsale: a counter", serve)
	redistest.Main(m, redistest.Children{"sale": saleChild})
}

// saleChild holds the sale whose flags it hears, in a process of its own.
func saleChild(p *redistest.Parent) {
	args, _ := p.Hear()
	os.Exit(run(strings.Fields(args), os.Stderr, os.Stderr))
}
