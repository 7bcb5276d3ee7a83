package main

import (
	"encoding/json"
	"fmt"
	"io"
	"strings"

	"github.com/guptarohit/asciigraph"
	"github.com/jedib0t/go-pretty/v6/table"
	"github.com/jedib0t/go-pretty/v6/text"
)

func reportJSON(out io.Writer, all []*result) error {
	enc := json.NewEncoder(out)
	for _, r := range all {
		if err := enc.Encode(r); err != nil {
			return err
		}
	}
	return nil
}

// report prints the results for people.
func report(out io.Writer, all []*result) error {
	parts := []string{opening(all), figures(all), morals(all), chart(all)}
	_, err := io.WriteString(out, strings.Join(parts, "\n\n")+"\n")
	return err
}

func opening(all []*result) string {
	r, took := all[0], 0.0
	for _, one := range all {
		took += one.Seconds
	}
	return fmt.Sprintf("%d pieces, %d buyers at once, %d processes, server: %s, %.1f s",
		r.Stock, r.Buyers, r.Procs, r.Server, took)
}

func figures(all []*result) string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.Style().Format.Header = text.FormatDefault
	t.Style().Format.HeaderAlign = text.AlignRight
	t.Style().Format.RowAlign = text.AlignRight
	t.AppendHeader(table.Row{"strategy", "sold", "left", "oversold", "sales/s", "p50 wait", "p99 wait", "commands/sale"})
	for _, r := range all {
		t.AppendRow(table.Row{
			r.Strategy, r.Sold, r.Left, r.Oversold,
			fmt.Sprintf("%.0f", r.SalesPerSecond),
			fmt.Sprintf("%.0f ms", r.WaitP50), fmt.Sprintf("%.0f ms", r.WaitP99),
			fmt.Sprintf("%.1f", r.CommandsPerSale),
		})
	}
	return t.Render()
}

// title names a sale where there are several.
func title(all []*result, r *result) string {
	if len(all) == 1 {
		return ""
	}
	return r.Strategy + ": "
}

func morals(all []*result) string {
	var said []string
	for _, r := range all {
		said = append(said, title(all, r)+moral(r))
	}
	return strings.Join(said, "\n")
}

// moral says in words what the figures mean.
func moral(r *result) string {
	said := fmt.Sprintf("Nothing was oversold: %d sold and %d left are the %d there were.", r.Sold, r.Left, r.Stock)
	if r.Oversold != 0 {
		said = fmt.Sprintf("OVERSOLD: %d sold and %d left, of %d: %d buyers were sold a piece that was another's.",
			r.Sold, r.Left, r.Stock, r.Oversold)
	}
	if k := r.Killed; k != nil {
		said += fmt.Sprintf("\nProcess %d was killed while it held the lock. %d of its buyers went without an answer,"+
			"\n%d of them with a piece. The sale stood still for %.1f s and went on.",
			k.Process, k.Unserved, k.Unreported, k.Standstill/1000)
	}
	return said
}

const nobodyWaits = 1 // ms

// chart returns that of the last sale.
func chart(all []*result) string {
	r := all[len(all)-1]
	if r.WaitP50 < nobodyWaits {
		return "Hardly anybody waited."
	}
	bars := make([]float64, len(r.Waits))
	for i, n := range r.Waits {
		bars[i] = float64(n)
	}
	return asciigraph.Plot(bars,
		asciigraph.Height(6), asciigraph.LowerBound(0), asciigraph.Precision(0),
		asciigraph.XAxisRange(0, r.WaitMax/1000),
		asciigraph.XAxisValueFormatter(func(s float64) string { return fmt.Sprintf("%.2gs", s) }),
		asciigraph.Caption(title(all, r)+"buyers who got a piece, by how long they waited"))
}
