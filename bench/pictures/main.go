// Command pictures draws the pictures of README.md:
//
//	docs/img/flashsale.svg  two runs of examples/flashsale, without a lock and with one
//	docs/img/speed.svg      eight rows of docs/speed.json
//
// make pictures draws both, and make ratios the second. flashsale.svg keeps the results of its runs, so that a test can draw it again and compare.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
)

func main() {
	root := flag.String("root", "..", "folder of the repository")
	only := flag.String("only", "", "draw this picture alone: flashsale or speed")
	flag.Parse()
	err := fmt.Errorf("no picture is called %q: flashsale or speed", *only)
	for _, p := range pictures {
		if *only == "" || *only == p.name {
			if err = p.write(*root); err != nil {
				break
			}
		}
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "pictures:", err)
		os.Exit(1)
	}
}

// picture is a picture of README.md, and how it is drawn for the repository in a folder.
type picture struct {
	name string
	draw func(root string) ([]byte, error)
}

var pictures = []picture{
	{"flashsale", func(root string) ([]byte, error) {
		sales, err := runSales(root)
		if err != nil {
			return nil, err
		}
		return drawSales(sales)
	}},
	{"speed", func(root string) ([]byte, error) {
		speeds, err := readSpeeds(filepath.Join(root, "docs", "speed.json"))
		if err != nil {
			return nil, err
		}
		return drawSpeeds(speeds)
	}},
}

func (p picture) write(root string) error {
	svg, err := p.draw(root)
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(root, "docs", "img", p.name+".svg"), svg, 0o644)
}
