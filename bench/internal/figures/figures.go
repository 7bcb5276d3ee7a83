// Package figures keeps what the rows of the benchmark measured, in docs/speed.json. The page docs/speed.md and the
// picture docs/img/speed.svg are made from this file.
package figures

import (
	"encoding/json"
	"os"
	"slices"
)

// Result has what one row measured.
type Result struct {
	Row    string    `json:"row"`
	Unit   string    `json:"unit"`
	Ours   float64   `json:"ours"`
	Base   float64   `json:"base,omitempty"`
	Ratio  float64   `json:"ratio,omitempty"` // the median of the ratios of neighbouring slices, 0 without a base
	Low    float64   `json:"low,omitempty"`   // their middle half
	High   float64   `json:"high,omitempty"`
	Slices int       `json:"slices,omitempty"` // of each side; 0 of a row that was measured before the file kept it
	Day    string    `json:"day"`
	Lost   *[2]int64 `json:"lost,omitempty"` // changes of a number that the locks of both sides guard, where they are counted
	Note   string    `json:"note,omitempty"`
}

// Read returns the results of a file by their rows. A file that is not there has none.
func Read(path string) (map[string]Result, error) {
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return map[string]Result{}, nil
	}
	var all []Result
	if err == nil {
		err = json.Unmarshal(text, &all)
	}
	byRow := map[string]Result{}
	for _, r := range all {
		byRow[r.Row] = r
	}
	return byRow, err
}

// Write replaces the results of a file by some for these rows, a line for each, in this order. Rows without a result have
// none in the file.
func Write(path string, rows []string, of map[string]Result) error {
	text := []byte("[")
	for _, row := range rows {
		r, is := of[row]
		if !is {
			continue
		}
		line, err := json.Marshal(r)
		if err != nil {
			return err
		}
		if len(text) > 1 {
			text = append(text, ',')
		}
		text = append(slices.Concat(text, []byte("\n  ")), line...)
	}
	return os.WriteFile(path, append(text, "\n]\n"...), 0o644)
}
