//! NumPy's `.npy` files: headers read and written.
//!
//! Source of the format: NumPy 2.4, `numpy.lib.format`. The header is the text of a Python dictionary. The
//! crates that read it evaluate it as Python, which recurses on what the file says; this reader takes the three
//! keys that the format has, so that no file makes it recurse or allocate.

use std::io::Read;

use crate::config::kernel::Scalar;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// Bytes of a header. NumPy itself refuses more than 10000 characters.
const MAX_HEADER: usize = 1 << 16;

/// Dimensions that an array may have, as in NumPy 2.
const MAX_DIMENSIONS: usize = 64;

/// What a file says about its array.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Type of an element; of those that NumPy has no name for, one of that size.
    pub element: Scalar,
    /// Whether the bytes of an element come with the highest first.
    pub big_endian: bool,
    /// Sizes along the dimensions, the last of which is contiguous.
    pub shape: Vec<u64>,
    /// Elements in all.
    pub count: u64,
    /// Where the elements start in the file `[bytes]`.
    pub offset: u64,
}

impl Header {
    /// Reads the header of a file of `bytes` bytes; the elements follow.
    ///
    /// # Errors
    /// What is no array of numbers that gsim has, in C order, with as many bytes as its shape says.
    pub fn read(file: &mut impl Read, bytes: u64) -> Result<Header, String> {
        let mut start = [0; 8];
        file.read_exact(&mut start).map_err(|_| "is no .npy file: it is too short")?;
        if &start[..6] != MAGIC {
            return Err("is no .npy file: it does not start with \\x93NUMPY".to_owned());
        }
        let size_bytes = match start[6] {
            1 => 2,
            2 | 3 => 4,
            version => return Err(format!("has .npy version {version}, where 1 to 3 are known")),
        };
        let mut size = [0; 4];
        file.read_exact(&mut size[..size_bytes]).map_err(|_| "ends in its header")?;
        let size = u32::from_le_bytes(size) as usize;
        if size > MAX_HEADER {
            return Err(format!("has a header of {size} bytes, where {MAX_HEADER} are the most"));
        }
        let mut text = vec![0; size];
        file.read_exact(&mut text).map_err(|_| "ends in its header")?;
        let text = std::str::from_utf8(&text).map_err(|_| "has a header that is no text")?;
        let mut header = Dictionary { rest: text }.read()?;
        header.offset = (8 + size_bytes + size) as u64;
        let data = header.count.checked_mul(header.element.bytes());
        let whole = data.and_then(|data| data.checked_add(header.offset));
        match whole {
            Some(whole) if whole == bytes => Ok(header),
            _ => Err(format!(
                "has {} bytes after its header, but its shape {} of {} needs {}",
                bytes.saturating_sub(header.offset),
                shape_text(&header.shape),
                header.type_name(),
                data.map_or_else(|| "more than 2^64".to_owned(), |data| data.to_string())
            )),
        }
    }

    /// Whether the file may have elements of that type.
    pub fn has(&self, element: Scalar) -> bool {
        // Files that gsim wrote call both types of 8 bits the same.
        self.element == element || (self.element, element) == (Scalar::E4M3, Scalar::E5M2)
    }

    /// What the file calls its elements.
    pub fn type_name(&self) -> String {
        match self.element {
            Scalar::BF16 | Scalar::E4M3 => name_of(self.element)[1..].to_owned(),
            Scalar::E5M2 => "f1".to_owned(),
            element => element.to_string(),
        }
    }

    /// The first bytes of a file for an array of little-endian elements in C order.
    pub fn write(element: Scalar, shape: &[u64]) -> Vec<u8> {
        let descr = name_of(element);
        let shape = shape_text(shape);
        let mut text =
            format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}");
        // The elements start at a multiple of 64.
        let size = (10 + text.len() + 1).next_multiple_of(64) - 10;
        text.extend(std::iter::repeat_n(' ', size - 1 - text.len()));
        text.push('\n');
        let mut bytes = MAGIC.to_vec();
        bytes.extend([1, 0]);
        bytes.extend(u16::try_from(size).expect("64 dimensions at most").to_le_bytes());
        bytes.extend(text.as_bytes());
        bytes
    }
}

/// NumPy's name for a type, with its byte order.
fn name_of(element: Scalar) -> &'static str {
    match element {
        Scalar::I8 => "|i1",
        Scalar::U8 => "|u1",
        Scalar::I16 => "<i2",
        Scalar::U16 => "<u2",
        Scalar::I32 => "<i4",
        Scalar::U32 => "<u4",
        Scalar::I64 => "<i8",
        Scalar::U64 => "<u8",
        Scalar::F16 => "<f2",
        Scalar::F32 => "<f4",
        Scalar::F64 => "<f8",
        // NumPy has no such types. It loads them as bytes by these names, which the package `ml_dtypes` writes for `bfloat16` and
        // `float8_e4m3fn`; that of `float8_e5m2` it does not load.
        Scalar::BF16 => "<V2",
        Scalar::E4M3 | Scalar::E5M2 => "|V1",
    }
}

/// A shape as Python writes it.
fn shape_text(shape: &[u64]) -> String {
    match shape {
        [only] => format!("({only},)"),
        all => {
            let all: Vec<String> = all.iter().map(u64::to_string).collect();
            format!("({})", all.join(", "))
        }
    }
}

/// Reads `{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }`.
struct Dictionary<'a> {
    rest: &'a str,
}

impl<'a> Dictionary<'a> {
    fn eat(&mut self, wanted: &str) -> bool {
        self.rest = self.rest.trim_start();
        match self.rest.strip_prefix(wanted) {
            Some(rest) => {
                self.rest = rest;
                true
            }
            None => false,
        }
    }

    fn expect(&mut self, wanted: &str) -> Result<(), String> {
        match self.eat(wanted) {
            true => Ok(()),
            false => {
                let found: String = self.rest.chars().take(20).collect();
                Err(format!("has a header with {found:?} where `{wanted}` belongs"))
            }
        }
    }

    fn text(&mut self) -> Result<&'a str, String> {
        let quote = if self.eat("\"") { '"' } else { '\'' };
        if quote == '\'' {
            self.expect("'")?;
        }
        let (text, rest) = self.rest.split_once(quote).ok_or("has a header with an open quote")?;
        self.rest = rest;
        Ok(text)
    }

    fn read(mut self) -> Result<Header, String> {
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect("{")?;
        while !self.eat("}") {
            let key = self.text()?;
            self.expect(":")?;
            let again = match key {
                "descr" if self.rest.trim_start().starts_with(['[', '(']) => {
                    return Err(
                        "has elements of several fields; give each field its own array".to_owned()
                    );
                }
                "descr" => descr.replace(self.text()?).is_some(),
                "fortran_order" => fortran.replace(self.truth()?).is_some(),
                "shape" => shape.replace(self.shape()?).is_some(),
                _ => return Err(format!("has a header with the unknown key {key:?}")),
            };
            if again {
                return Err(format!("has a header with {key:?} twice"));
            }
            if !self.eat(",") {
                self.expect("}")?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err("has a header that goes on after its dictionary".to_owned());
        }
        let missing = |key| format!("has a header without {key:?}");
        let (element, big_endian) = element(descr.ok_or_else(|| missing("descr"))?)?;
        let shape: Vec<u64> = shape.ok_or_else(|| missing("shape"))?;
        // An array along one dimension is the same in both orders.
        if fortran.ok_or_else(|| missing("fortran_order"))? && shape.len() > 1 {
            return Err("is in Fortran order; save numpy.ascontiguousarray(array)".to_owned());
        }
        let count = shape.iter().try_fold(1u64, |count, size| count.checked_mul(*size));
        let count = count.ok_or_else(|| {
            format!("has the shape {}, which is out of all measure", shape_text(&shape))
        })?;
        Ok(Header { element, big_endian, shape, count, offset: 0 })
    }

    fn truth(&mut self) -> Result<bool, String> {
        if self.eat("True") {
            return Ok(true);
        }
        self.expect("False").map(|()| false)
    }

    fn shape(&mut self) -> Result<Vec<u64>, String> {
        let mut shape = Vec::new();
        self.expect("(")?;
        while !self.eat(")") {
            if shape.len() == MAX_DIMENSIONS {
                return Err(format!("has more than {MAX_DIMENSIONS} dimensions"));
            }
            let end = self.rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(self.rest.len());
            let (digits, rest) = self.rest.split_at(end);
            self.rest = rest;
            shape.push(
                digits
                    .parse()
                    .map_err(|_| format!("has a header with a size {digits:?} in its shape"))?,
            );
            // A long number of Python 2.
            self.eat("L");
            if !self.eat(",") {
                self.expect(")")?;
                break;
            }
        }
        Ok(shape)
    }
}

/// Type and byte order of NumPy's name for it, such as `<f4`.
fn element(descr: &str) -> Result<(Scalar, bool), String> {
    let (order, name) = match descr.strip_prefix(['<', '>', '=', '|']) {
        Some(name) => (descr.as_bytes()[0], name),
        None => (b'=', descr),
    };
    let element = match name {
        "i1" => Scalar::I8,
        // NumPy's truth values are bytes of 0 and 1.
        "u1" | "b1" => Scalar::U8,
        "i2" => Scalar::I16,
        "u2" => Scalar::U16,
        "i4" => Scalar::I32,
        "u4" => Scalar::U32,
        "i8" => Scalar::I64,
        "u8" => Scalar::U64,
        "f2" => Scalar::F16,
        "f4" => Scalar::F32,
        "f8" => Scalar::F64,
        "V2" => Scalar::BF16,
        "V1" => Scalar::E4M3,
        "f1" => Scalar::E5M2,
        _ => {
            return Err(format!(
                "has elements of type {descr:?}; known are i1 to i8, u1 to u8, f1 to f8, b1, V1 and V2"
            ));
        }
    };
    Ok((element, order == b'>'))
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A file with this header text and so many bytes of elements.
    fn file(version: u8, header: &str, data: usize) -> Vec<u8> {
        let mut bytes = [&MAGIC[..], &[version, 0]].concat();
        match version {
            1 => bytes.extend((header.len() as u16).to_le_bytes()),
            _ => bytes.extend((header.len() as u32).to_le_bytes()),
        }
        bytes.extend(header.as_bytes());
        bytes.extend(std::iter::repeat_n(0, data));
        bytes
    }

    fn read(bytes: &[u8]) -> Result<Header, String> {
        Header::read(&mut &bytes[..], bytes.len() as u64)
    }

    #[test]
    fn what_numpy_writes_is_read() {
        let text = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }          \n";
        let header = read(&file(1, text, 48)).unwrap();
        assert_eq!((header.element, header.big_endian), (Scalar::F32, false));
        assert_eq!((header.shape, header.count), (vec![3, 4], 12));
        assert_eq!(header.offset, 10 + text.len() as u64);
        let text = "{'descr': '>i8', 'fortran_order': True, 'shape': (2L,), }\n";
        let header = read(&file(2, text, 16)).unwrap();
        assert_eq!((header.element, header.big_endian), (Scalar::I64, true));
        let text = "{\"shape\": (), \"descr\": \"|b1\", \"fortran_order\": False}";
        let header = read(&file(3, text, 1)).unwrap();
        assert_eq!((header.element, header.shape, header.count), (Scalar::U8, vec![], 1));
    }

    #[test]
    fn what_ml_dtypes_writes_is_read() {
        // `numpy.save` of arrays of bfloat16, float8_e4m3fn and float8_e5m2, with ml_dtypes 0.6.
        let named = |descr: &str, bytes: usize| {
            let text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': (2,), }}");
            read(&file(1, &text, bytes)).unwrap()
        };
        let all = [named("<V2", 4), named("<V1", 2), named("<f1", 2)];
        let has = |element| all.each_ref().map(|header| header.has(element));
        assert_eq!(has(Scalar::BF16), [true, false, false]);
        assert_eq!(has(Scalar::E4M3), [false, true, false]);
        assert_eq!(has(Scalar::E5M2), [false, true, true]);
        assert_eq!(all.map(|header| header.type_name()), ["V2", "V1", "f1"]);
    }

    /// The bytes of `numpy.save(file, numpy.array([1, 2], "<i2"))`, NumPy 2.4.
    #[test]
    fn what_is_written_is_what_numpy_writes() {
        let mut want = b"\x93NUMPY\x01\x00\x76\x00".to_vec();
        want.extend(b"{'descr': '<i2', 'fortran_order': False, 'shape': (2,), }");
        want.resize(127, b' ');
        want.push(b'\n');
        assert_eq!(Header::write(Scalar::I16, &[2]), want);
    }

    #[test]
    fn what_is_no_array_of_numbers_is_refused() {
        let with = |descr: &str, fortran: &str, shape: &str| {
            let text =
                format!("{{'descr': {descr}, 'fortran_order': {fortran}, 'shape': {shape}, }}");
            read(&file(1, &text, 8)).unwrap_err()
        };
        let huge = with("'<f8'", "False", "(1152921504606846976,)");
        let want = "has 8 bytes after its header, but its shape (1152921504606846976,) of F64 needs \
                    9223372036854775808";
        assert_eq!(huge, want);
        let huge = with("'<f8'", "False", "(2305843009213693952,)");
        assert!(huge.ends_with("needs more than 2^64"), "{huge}");
        let want = "has the shape (4294967296, 4294967296), which is out of all measure";
        assert_eq!(with("'<f8'", "False", "(4294967296, 4294967296)"), want);
        assert!(with("'<f8'", "False", "(2,)").ends_with("needs 16"));
        assert!(with("'<f8'", "True", "(1, 1)").contains("Fortran order"));
        assert!(with("'<c8'", "False", "(1,)").contains("type \"<c8\""));
        assert!(with("[('a', '<f4')]", "False", "(1,)").contains("several fields"));
        assert!(with("'<f8'", "Maybe", "(1,)").contains("`False` belongs"));
        assert!(with("'<f8'", "False", "(-1,)").contains("a size \"\""));
        let many = format!("({})", "1,".repeat(65));
        assert!(with("'<f8'", "False", &many).contains("more than 64 dimensions"));
        assert_eq!(
            read(b"PK\x03\x04aaaa").unwrap_err(),
            "is no .npy file: it does not start with \\x93NUMPY"
        );
        assert_eq!(read(b"\x93NUM").unwrap_err(), "is no .npy file: it is too short");
        assert!(read(&file(4, "{}", 0)).unwrap_err().contains("version 4"));
        assert_eq!(read(&file(1, "{}", 0)).unwrap_err(), "has a header without \"descr\"");
        let long = [&MAGIC[..], &[2, 0], &u32::MAX.to_le_bytes()].concat();
        assert!(read(&long).unwrap_err().contains("header of 4294967295 bytes"));
        let deep = read(&file(1, &"(".repeat(60000), 0)).unwrap_err();
        assert_eq!(deep, "has a header with \"((((((((((((((((((((\" where `{` belongs");
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(1024))]

        #[test]
        fn no_header_makes_it_panic(
            text in "[{}()\\[\\]',:\"<>|a-zA-Z0-9_ L-]{0,80}",
            version in 0u8..5,
            data in 0usize..64,
        ) {
            let _ = read(&file(version, &text, data));
        }

        #[test]
        fn a_damaged_file_is_read_or_refused(
            place in 0usize..150,
            byte in any::<u8>(),
            cut in 0usize..150,
        ) {
            let mut bytes = Header::write(Scalar::F32, &[4, 2]);
            bytes.extend([0; 32]);
            bytes[place % 160] = byte;
            bytes.truncate(bytes.len() - cut);
            if let Ok(header) = read(&bytes) {
                prop_assert_eq!(
                    header.offset + header.count * header.element.bytes(),
                    bytes.len() as u64
                );
            }
        }

        #[test]
        fn what_is_written_is_read_back(shape in proptest::collection::vec(0u64..9, 0..6)) {
            use Scalar::{BF16, E5M2, F16, F64, I8, I32, U16};
            for element in [I8, U16, F16, I32, F64, BF16, E5M2] {
                let mut bytes = Header::write(element, &shape);
                prop_assert_eq!(bytes.len() % 64, 0);
                let count: u64 = shape.iter().product();
                bytes.resize(bytes.len() + (count * element.bytes()) as usize, 0);
                let header = read(&bytes).unwrap();
                prop_assert!(header.has(element) && !header.has(Scalar::U8));
                prop_assert_eq!(&header.shape, &shape);
            }
        }
    }
}
