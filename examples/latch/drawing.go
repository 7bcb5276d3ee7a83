package main

import (
	"fmt"
	"strings"
)

// drawing returns a bar for each shard.
func (f *fleet) drawing() (lines []string) {
	for i, sh := range f.shards {
		lines = append(lines, fmt.Sprintf("shard %2d  %s%s  %s", i,
			strings.Repeat("█", sh.progress), strings.Repeat("░", max(parts-sh.progress, 0)), sh.state()))
	}
	return lines
}

// state returns what a shard does, in a word.
func (sh *shard) state() string {
	switch {
	case !sh.started.IsZero():
		return "started"
	case len(sh.reported) > 0 && len(sh.reported) < sh.lives:
		return "loads again"
	case len(sh.reported) > 0:
		return "ready"
	}
	return "loads"
}
