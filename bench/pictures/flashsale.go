package main

import (
	"encoding/json"
	"encoding/xml"
	"fmt"
	"os"
	"os/exec"
)

// sale is the result of one run of examples/flashsale, as -json prints it.
type sale struct {
	Strategy string `json:"strategy"`
	Procs    int    `json:"procs"`
	Buyers   int    `json:"buyers"`
	Stock    int    `json:"stock"`
	Sold     int    `json:"sold"`
	Left     int    `json:"left"`
	Oversold int    `json:"oversold"`
}

// names are the strategies of the picture, in its order.
var names = map[string]string{"none": "without a lock", "lock": "with a lock"}

// runSales runs the example without a lock, and with one.
func runSales(root string) (all []sale, err error) {
	for _, strategy := range []string{"none", "lock"} {
		run := exec.Command("go", "run", "./examples/flashsale", "-strategy", strategy, "-json")
		run.Dir, run.Stderr = root, os.Stderr
		out, err := run.Output()
		if err != nil {
			return nil, fmt.Errorf("flashsale -strategy %s: %w", strategy, err)
		}
		var s sale
		if err := json.Unmarshal(out, &s); err != nil {
			return nil, fmt.Errorf("flashsale -strategy %s: %w", strategy, err)
		}
		all = append(all, s)
	}
	return all, nil
}

// drawSales draws, for each strategy, how many buyers were sold a piece, and how many pieces left the stock.
func drawSales(all []sale) ([]byte, error) {
	const left, right, most = 250, 690, 2000
	at := func(n int) int { return left + (right-left)*n/most }
	results, err := json.Marshal(all) // resultsOf reads them
	if err != nil {
		return nil, err
	}
	c := chart{
		Title: "A flash sale", About: string(results), Width: 760, Height: 286, Top: 92, Bottom: 248,
		Subtitle: fmt.Sprintf("%d pieces in stock, %d buyers at once, %d processes", all[0].Stock, all[0].Buyers, all[0].Procs),
	}
	for n := 0; n <= most; n += 500 {
		c.Ticks = append(c.Ticks, tick{X: at(n), Text: fmt.Sprint(n)})
	}
	c.Ticks = append(c.Ticks, tick{X: at(all[0].Stock), Text: "in stock", Mark: true})
	y := 100
	for _, s := range all {
		sold := bar{
			X: left, Y: y + 20, Width: at(s.Sold) - left, Height: 18, Class: "ours",
			NameX: left - 10, Name: "buyers who were sold a piece", TextX: at(s.Sold) + 8, Text: fmt.Sprint(s.Sold),
			Heading: names[s.Strategy], HeadingY: y + 12, Verdict: "exact: each piece is sold once", VerdictClass: "good",
		}
		if s.Oversold > 0 {
			sold.Class, sold.VerdictClass = "other", "other"
			sold.Verdict = fmt.Sprintf("oversold: %d buyers were sold a piece of another buyer", s.Oversold)
		}
		gone := s.Stock - s.Left
		c.Bars = append(c.Bars, sold, bar{
			X: left, Y: y + 42, Width: max(2, at(gone)-left), Height: 18, Class: "slower",
			NameX: left - 10, Name: "pieces that left the stock", TextX: at(gone) + 8, Text: fmt.Sprint(gone),
		})
		y += 76
	}
	return c.svg()
}

// resultsOf returns the results from which a picture was drawn.
func resultsOf(svg []byte) (all []sale, err error) {
	var picture struct {
		Desc string `xml:"desc"`
	}
	if err := xml.Unmarshal(svg, &picture); err != nil {
		return nil, err
	}
	return all, json.Unmarshal([]byte(picture.Desc), &all)
}
