// Command pictures draws the pictures of README.md:
//
//	docs/img/flashsale.svg  two runs of examples/flashsale, without a lock and with one
//	docs/img/speed.svg      eight rows of the table of docs/speed.md
//
// make pictures runs it. flashsale.svg keeps the results of its runs, so that a test can draw it again and compare.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "..", "folder of the repository")
	flag.Parse()
	if err := draw(*root); err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// draw writes both pictures.
func draw(root string) error {
	sales, err := runSales(root)
	if err != nil {
		return err
	}
	flashsale, err := drawSales(sales)
	if err != nil {
		return err
	}
	speeds, err := readSpeeds(filepath.Join(root, "docs", "speed.md"))
	if err != nil {
		return err
	}
	speed, err := drawSpeeds(speeds)
	if err != nil {
		return err
	}
	img := filepath.Join(root, "docs", "img")
	if err := os.MkdirAll(img, 0o755); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(img, "flashsale.svg"), flashsale, 0o644); err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(img, "speed.svg"), speed, 0o644)
}
