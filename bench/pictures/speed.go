package main

import (
	"fmt"
	"math"
	"strings"

	"github.com/rueidisson/rueidisson/bench/internal/figures"
)

// rows are the rows of docs/speed.json that the picture shows, and what it calls them. They are common operations of each
// group of objects. In two of them the alternative is faster.
var rows = []struct{ row, name, against string }{
	{"4 processes x 8, hold 0", "lock, 4 processes contend", "vs rueidislock"},
	{"reads of one key, 4 processes x 16", "read lock, 64 readers", "vs a script for each"},
	{"map, Compute of one entry, 64 goroutines, by lock, HGET and HSET", "map, Compute of one entry", "vs lock, HGET and HSET"},
	{"limiter, hot key, 256 goroutines, by redis_rate", "rate limiter, one key", "vs redis_rate"},
	{"reliable queue, Serve, 64 goroutines, by asynq", "reliable queue, 64 handlers", "vs asynq"},
	{"near, hit, 8 goroutines, by go-redis/cache", "near cache, hit", "vs go-redis/cache"},
	{"own keys, 1 goroutine", "lock without contention", "vs two bare scripts"},
	{"limiter, 10,000 keys, 64 goroutines, by GCRA script", "rate limiter, 10,000 keys", "vs a bare GCRA script"},
}

// speed is a row: how many times as fast as the alternative the library is.
type speed struct {
	name, against string
	factor        float64
}

// label returns the factor as the picture shows it.
func (s speed) label() string { return fmt.Sprintf("%.2g×", s.factor) }

// readSpeeds reads the rows of the picture from the figures of docs/speed.json.
func readSpeeds(file string) (all []speed, err error) {
	of, err := figures.Read(file)
	if err != nil {
		return nil, err
	}
	for _, r := range rows {
		got, is := of[r.row]
		if !is || got.Ratio == 0 {
			return nil, fmt.Errorf("%s has no ratio of %q", file, r.row)
		}
		factor := got.Ratio
		if !strings.HasSuffix(got.Unit, "/s") { // a time: less is better
			factor = 1 / factor
		}
		all = append(all, speed{r.name, r.against, factor})
	}
	return all, nil
}

// drawSpeeds draws the factors on a logarithmic axis. Bars begin at 1, which is equal.
func drawSpeeds(all []speed) ([]byte, error) {
	const left, right, lowest, highest = 400, 790, 0.5, 128
	at := func(factor float64) int {
		return left + int((right-left)*math.Log2(factor/lowest)/math.Log2(highest/lowest))
	}
	c := chart{
		Title: "How many times as fast", Subtitle: "One local Redis, in turns with the alternative; rows of docs/speed.md. 1× is equal.",
		Width: 840, Height: 140 + 30*len(all), Top: 84, Bottom: 96 + 30*len(all),
	}
	for factor := lowest; factor <= highest; factor *= 2 {
		c.Ticks = append(c.Ticks, tick{X: at(factor), Text: fmt.Sprintf("%g×", factor)})
	}
	var about []string
	for i, s := range all {
		about = append(about, fmt.Sprintf("%s, %s: %s", s.name, s.against, s.label()))
		b := bar{
			X: at(1), Y: 94 + 30*i, Width: at(s.factor) - at(1), Height: 18, Class: "ours",
			NameX: left - 14, Name: s.name, Against: s.against, TextX: at(s.factor) + 8, Text: s.label(),
		}
		if s.factor < 1 {
			b.X, b.Width, b.Class, b.TextX = at(s.factor), at(1)-at(s.factor), "slower", at(1)+8
		}
		b.Width = max(2, b.Width)
		c.Bars = append(c.Bars, b)
	}
	c.About = strings.Join(about, "; ")
	return c.svg()
}
