package main

import (
	"fmt"
	"strings"
)

// wide is how many blocks are all reads.
const wide = 30

// drawing returns a line for each process.
func (c *catalog) drawing() (lines []string) {
	by, _ := c.store.loaded()
	for i, sh := range c.pages {
		hits := wide * int(sh.last.Hits) / max(int(sh.last.Hits+sh.last.Misses), 1)
		lines = append(lines, fmt.Sprintf("process %d  %s%s  %s hits, %d loads, %s", i,
			strings.Repeat("█", hits), strings.Repeat("░", wide-hits), sh.ratio(), by[i], sh.news()))
	}
	return lines
}

// news returns how old the last price was when it was seen.
func (sh *shop) news() string {
	if len(sh.ages) == 0 {
		return "no new price yet"
	}
	return fmt.Sprintf("the last price after %.2f ms", float64(sh.ages[len(sh.ages)-1].Microseconds())/1000)
}
