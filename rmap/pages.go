package rmap

import (
	"github.com/rueidisson/rueidisson/internal/hashscan"
)

// scanned is what a walk asks for.
type scanned int

const (
	scannedKeys scanned = iota
	scannedEntries
	scannedTimes // entries of a cache, with the times that they have left
)

// asked is a page of a walk that the server is asked for.
type asked struct {
	hashscan.Ask
	what scanned
}

// scanPage is the answer.
type scanPage struct {
	hashscan.Page
	pairs []pair
}

// fetch reads the entries for which the page had no room, each by a request of its own.
func (p *scanPage) fetch(read func(key string) (pair, error)) error {
	for _, key := range p.Left {
		one, err := read(key)
		if err != nil {
			return err
		}
		if one.there {
			p.pairs = append(p.pairs, one)
			p.Bytes += int64(len(one.text))
		}
	}
	return nil
}
