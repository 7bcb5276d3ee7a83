package mapstore

import (
	"github.com/rueidisson/rueidisson/internal/hashscan"
)

// Scanned is what a walk asks for.
type Scanned int

const (
	ScannedKeys Scanned = iota
	ScannedEntries
	ScannedTimes // entries of a cache, with the times that they have left
)

// Asked is a page of a walk that the server is asked for.
type Asked struct {
	hashscan.Ask
	What Scanned
}

// ScanPage is the answer to an Asked.
type ScanPage struct {
	hashscan.Page
	Pairs []Pair
}

// fetch reads the entries for which the page had no room, each by a request of its own.
func (p *ScanPage) fetch(read func(key string) (Pair, error)) error {
	for _, key := range p.Left {
		one, err := read(key)
		if err != nil {
			return err
		}
		if one.There {
			p.Pairs = append(p.Pairs, one)
			p.Bytes += int64(len(one.Text))
		}
	}
	return nil
}
