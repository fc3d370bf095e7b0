//! What a slice holds when a kernel starts.

use super::far::within_home;
use super::slice::Slice;
use crate::config::machine::L2Mode;
use crate::parts::{Place, SectorSet};
use crate::units::LineAddr;

impl Slice {
    /// Holds nothing any more. What memory lacked of its lines is forgotten, but for writes that are on their way. No request may
    /// wait.
    pub fn invalidate_all(&mut self) {
        self.tags.invalidate_all();
        self.partial.clear();
        for way in self.tags.ways() {
            let kept = &mut self.tags[way];
            self.bytes.clear(&mut kept.valid);
            self.bytes.clear(&mut kept.dirty);
        }
    }

    /// A whole line at home, as a copy leaves it that has read or written it. Written ones are dirty, as far as ways may be.
    pub fn install(&mut self, line: LineAddr, is_written: bool) {
        if self.mode != L2Mode::Cache {
            return;
        }
        let line = within_home(self.map.within_slice(line));
        let set = self.tags.set_of(line);
        let Place::Absent(way) = self.tags.find_in(set, line) else { return };
        let has_dirty = self.tags.is_dirty_in(set, way);
        let all = self.sectors.around_parts(SectorSet::of(self.sectors.whole()));
        if !is_written {
            self.tags.insert(way, line);
        } else {
            // One more dirty way in the set, and perhaps one too many, which has been written.
            let cleaned = self.tags.to_clean(line, self.dirty_ways).filter(|_| !has_dirty);
            if let Some(cleaned) = cleaned {
                self.partial.remove(cleaned);
                self.bytes.clear(&mut self.tags[cleaned].dirty);
                self.tags.set_dirty(cleaned, false);
            }
            self.tags.insert_dirty(set, way, line);
        }
        self.partial.remove(way);
        let kept = &mut self.tags[way];
        self.bytes.make(&mut kept.valid, all);
        self.bytes.make(&mut kept.dirty, if is_written { all } else { SectorSet::default() });
    }
}
